"""The arguments of `attach`, and the job, recorded run or captured hit that they name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from graphdbg.client import connect
from graphdbg.client.http import HttpClient, quote

from ..attach.attached_job import AttachOptions, join_job
from ..attach.errors import CannotAttachError
from ..attach.target_server import own_server
from ..attach.trainings import attached_jobs
from ..debugger import Session, attach, find_job, open_bundle, open_recording
from ..terminal import visible
from . import arguments as read
from .errors import RequestError
from .own_server import OwnServer
from .wire import Json


@dataclass(frozen=True)
class Attached:
    """What a session is attached to.

    Attributes:
        session: The debugger's session.
        http: The server that shows it; None for a captured hit.
        unsupported: The commands that a live job does not support.
    """

    session: Session
    http: HttpClient | None
    unsupported: Sequence[str] = ()


def attached(given: Json, server: OwnServer) -> Attached:
    """Attaches to what the arguments name.

    Args:
        server: Shows a recorded run of this machine.

    Raises:
        RequestError: An argument is wrong.
        GraphdbgError: There is no such server, job or run.
    """
    pid = _process_id(given)
    if pid:
        return _process(pid, server)
    bundle = read.optional_text(given, "bundle")
    if bundle is not None:
        return Attached(open_bundle(_existing(bundle, "bundle")), None)
    run = read.optional_text(given, "run")
    if run is not None:
        return _recorded(given, run, server)
    http, job = find_job(
        read.optional_text(given, "job"),
        server=read.optional_text(given, "server"),
        token=_token(read.optional_text(given, "tokenFile")),
    )
    return live(http, job)


def _process_id(given: Json) -> int:
    """0 if there is none. Lists of processes give texts."""
    value = given.get("processId")
    return int(value) if isinstance(value, str) and value.isdigit() else read.number(given, "processId", 0)


def _process(pid: int, server: OwnServer) -> Attached:
    """The job of a process. If it has none, the process joins this session's server, whose end it leaves at."""
    found = attached_jobs().get(pid)
    if found is not None:
        return live(*found)
    try:
        job = join_job([pid], own_server(server.process), AttachOptions(say=lambda _: None))
    except CannotAttachError as error:
        raise RequestError(str(error), show=True) from None
    return live(job.server.client, job.job)


def live(http: HttpClient, job: str) -> Attached:
    """A live job of a server, by its id."""
    unsupported = http.get(f"/jobs/{quote(job)}")["unsupported_commands"]
    return Attached(attach(http, job), http, tuple(unsupported))


def _recorded(given: Json, run: str, server: OwnServer) -> Attached:
    address = read.optional_text(given, "server")
    if address is not None:
        http = connect(address, _token(read.optional_text(given, "tokenFile"))).http
        return Attached(open_recording(http, run), http)
    name = server.show(_existing(run, "run"))
    if not name:
        raise RequestError(f"run: {visible(run)} is not a recorded run")
    http = server.process.client
    return Attached(open_recording(http, name), http)


def _existing(path: str, argument: str) -> Path:
    found = Path(path).expanduser()
    if not found.exists():
        raise RequestError(f"{argument}: there is no {visible(path)}")
    return found.resolve()


def _token(file: str | None) -> str | None:
    if file is None:
        return None
    try:
        return Path(file).expanduser().read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(f"tokenFile: {error}") from None
