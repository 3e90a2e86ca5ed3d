"""The arguments of `attach`, and the job, recorded run or captured hit that they name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from graphdbg.client import connect
from graphdbg.client.http import HttpClient, quote

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
    if given.get("processId") is not None:
        raise RequestError(
            "attaching by process id is not available yet: start the program with `launch`, or with `graphdbg run`, "
            "and attach to its job",
            show=True,
        )
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
