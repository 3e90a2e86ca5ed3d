"""Has a process join its training to a server, and leave it again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..client import Json
from ..terminal import visible
from .answers import Answers, answers_of
from .checks import Target, check, check_state
from .compiling import compile_adapter
from .errors import AlreadyAttachedError, CannotAttachError
from .injection import Method, Queued, Refused, inject, inspect
from .package_copy import package_directory
from .processes import Process
from .text import make_text

# How often, and how long, to try again while the process imports something.
_RETRY_SECONDS = 0.2
_BUSY_SECONDS = 30.0
# When to say why it takes so long.
_PATIENCE_SECONDS = 1.0


@dataclass(frozen=True)
class Joined:
    """A process that was joined.

    Attributes:
        message: What the process has answered.
        queued: How it was made to.
        seconds: How long that took.
    """

    target: Target
    message: str
    queued: Queued
    seconds: float


def join(
    pid: int,
    environment: Mapping[str, str],
    *,
    method: Method = "auto",
    may_compile: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Joined:
    """Puts the agent into a process.

    Args:
        environment: The agent's variables, such as GRAPHDBG_PORT.
        method: How the process is made to run the text.
        may_compile: Compile an adapter for its PyTorch if there is none.
        say: Called with what the user should know while it takes longer.

    Raises:
        AlreadyAttachedError: It is debugged already.
        CannotAttachError: It cannot be joined. Nothing was changed.
    """
    target = check(pid)
    if not target.ships_adapter:
        compile_adapter(target, may_compile, say)
    began = time.monotonic()
    settings = {"environment": _as_seen_by(target.process, environment)}
    answer, queued = _Call(target.process, target.python, method, say).run("join", settings)
    if answer["state"] == "already":
        raise AlreadyAttachedError(f"{_message_of(answer)}; --move takes it over")
    if answer["state"] != "started":
        raise _failure(answer, say)
    return Joined(target, _message_of(answer), queued, time.monotonic() - began)


def detach(pid: int, *, method: Method = "auto", say: Callable[[str], None] = lambda _: None) -> Json:
    """Takes the agent out of a process. Returns its answer: `message`, and the number of its `threads`.

    Raises:
        CannotAttachError: It is not attached, or cannot be reached.
    """
    python = str(inspect(pid)["python"])
    process = Process(pid)
    check_state(process)
    answer, _ = _Call(process, python, method, say).run("detach", {})
    if answer["state"] != "detached":
        raise _failure(answer, say)
    return {**answer, "message": _message_of(answer)}


class _Call:
    """Has a process call a function of graphdbg._attach."""

    def __init__(self, process: Process, python: str, method: Method, say: Callable[[str], None]) -> None:
        self._process = process
        self._python = python
        self._method = method
        self._say = say
        self._started = process.start_ticks

    def run(self, verb: str, settings: Json) -> tuple[Json, Queued]:
        """The last answer, which is not "busy"."""
        directory = package_directory(self._process)
        deadline = time.monotonic() + _BUSY_SECONDS
        while True:
            answer, queued = self._once(verb, directory, settings)
            if answer["state"] != "busy":
                return answer, queued
            if time.monotonic() > deadline:
                raise CannotAttachError(f"process {self._process.pid}: {_message_of(answer)}; try again later")
            time.sleep(_RETRY_SECONDS)

    def _once(self, verb: str, directory: Path, settings: Json) -> tuple[Json, Queued]:
        with answers_of(self._process) as answers:
            text = make_text(verb, directory, answers.address, settings)
            try:
                queued = inject(self._process, self._python, text, self._method)
            except Refused as error:
                if not error.passes:
                    raise
                return {"state": "busy", "message": str(error)}, Queued()
            return self._await(answers, queued), queued

    def _await(self, answers: Answers, queued: Queued) -> Json:
        answer = answers.wait(_PATIENCE_SECONDS)
        if answer is None:
            where = f" (it is in {queued.where})" if queued.where else ""
            self._say(f"waiting for the program's main thread to come back to Python{where}; Ctrl-C gives up")
        while answer is None:
            if self._process.start_ticks != self._started:
                raise CannotAttachError(f"process {self._process.pid} has ended")
            answer = answers.wait(_PATIENCE_SECONDS)
        return answer


def _as_seen_by(process: Process, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables without paths that mean other files to the process."""
    seen = dict(environment)
    if process.shares("mnt"):
        return seen
    seen.pop("GRAPHDBG_SOCKET", None)
    token = seen.pop("GRAPHDBG_TOKEN_FILE", None)
    if token is not None:
        seen["GRAPHDBG_TOKEN"] = Path(token).read_text().strip()
    return seen


def _message_of(answer: Json) -> str:
    return visible(answer.get("message") or answer["state"])


def _failure(answer: Json, say: Callable[[str], None]) -> CannotAttachError:
    for line in str(answer.get("traceback") or "").strip().splitlines():
        say(f"  {line}")
    return CannotAttachError(f"{_message_of(answer)}; nothing was changed in the process")
