"""Starts a job under the debugger: its environment and its process."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Protocol

from .client import Json
from .errors import USAGE, CliError
from .server_process import ServerProcess

_PACKAGE = Path(__file__).resolve().parent.parent
_INJECT = _PACKAGE / "_inject"
# For C++ programs. It does nothing in other programs.
_PRELOAD = _PACKAGE / "lib" / "libgraphdbg_preload.so"
_APART: dict[str, Any] = {
    "stdin": subprocess.DEVNULL,
    "stdout": subprocess.PIPE,
    "stderr": subprocess.PIPE,
    "start_new_session": True,
}


def script_name(command: Sequence[str]) -> str:
    """The name of the script's or model's file, or else of the program."""
    return Path(next((word for word in command if word.endswith((".py", ".onnx"))), command[0])).name


def job_name(command: Sequence[str]) -> str:
    """The name of the script or model without its extension, or else of the program."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", Path(script_name(command)).stem) or "job"


def _is_python(command: str) -> bool:
    """Whether a program is the Python interpreter or a Python script."""
    path = shutil.which(command)
    if path is None or re.fullmatch(r"python[0-9.]*", Path(path).resolve().name):
        return path is not None
    try:
        with open(path, "rb") as file:
            first_line = file.readline(256)
    except OSError:
        return False
    return first_line.startswith(b"#!") and b"python" in first_line


def _can_preload() -> bool:
    # Spaces and colons separate the names in LD_PRELOAD.
    return _PRELOAD.exists() and not re.search(r"[ :]", str(_PRELOAD))


def _exception_file(server: ServerProcess) -> Path:
    return server.data_dir / "exception.json"


def job_environment(command: Sequence[str], server: ServerProcess | None, given: Mapping[str, str]) -> dict[str, str]:
    """The environment that has a command debugged.

    Args:
        command: The program and its arguments.
        server: The server that the job connects to; None if there is none.
        given: The environment that the command would have otherwise.
    """
    environment = dict(given)
    path = environment.get("PYTHONPATH")
    # Reaches Python interpreters that graphdbg is not installed in.
    environment["PYTHONPATH"] = f"{_INJECT}{os.pathsep}{path}" if path else str(_INJECT)
    if server:
        environment |= _variables(server, job_name(command))
    if _can_preload() and not _is_python(command[0]):
        environment["LD_PRELOAD"] = " ".join(filter(None, (str(_PRELOAD), environment.get("LD_PRELOAD"))))
    return environment


def _variables(server: ServerProcess, job: str) -> dict[str, str]:
    """The variables that connect a job to the server."""
    host, _, port = server.debugger_address.rpartition(":")
    # No other user can connect to the socket, or take its place. The port is
    # for programs that know no sockets.
    socket = {"GRAPHDBG_SOCKET": str(server.debugger_socket)} if server.debugger_socket else {}
    return socket | {
        "GRAPHDBG_ENABLE": "1",
        "GRAPHDBG_HOST": host,
        "GRAPHDBG_PORT": port,
        "GRAPHDBG_TOKEN_FILE": str(server.data_dir / "agent_token"),
        "GRAPHDBG_JOB": job,
        # The job waits before its first step, so that watchpoints can be set.
        "GRAPHDBG_WAIT": "1",
        "GRAPHDBG_EXCEPTION_FILE": str(_exception_file(server)),
    }


class JobProcess:
    """The job's process, whose output passes through unchanged."""

    def __init__(
        self, command: Sequence[str], server: ServerProcess | None, extra: dict[str, str], apart: bool = False
    ) -> None:
        """Starts the command.

        Args:
            command: The program and its arguments.
            server: The server that the job connects to; None if there is none.
            extra: Variables to add to the environment.
            apart: Ctrl-C does not reach it, it has no input, and the caller reads its `outputs`.
        """
        self.id = job_name(command)
        self._exception_file = _exception_file(server) if server else None
        environment = job_environment(command, server, os.environ | extra)
        try:
            self._process = subprocess.Popen(list(command), env=environment, **(_APART if apart else {}))
        except OSError as error:
            raise CliError(f"cannot run {command[0]}: {error.strerror}", USAGE) from None

    def poll(self) -> int | None:
        return self._process.poll()

    def wait(self, seconds: float) -> None:
        """Waits for the end of the process, up to this time."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    @property
    def outputs(self) -> list[IO[bytes]]:
        """Its standard output and error, if it runs apart."""
        return [stream for stream in (self._process.stdout, self._process.stderr) if stream is not None]

    def send(self, number: int) -> None:
        self._process.send_signal(number)

    def end(self) -> None:
        """Ends a job that has ignored the debugger's request to terminate."""
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def exit_code(self) -> int:
        """Waits for the job and returns its exit code as a shell would: 128 + n for signal n."""
        code = self._process.wait()
        return 128 - code if code < 0 else code

    def killed_by(self) -> str | None:
        """The name of the signal that ended the job, if any."""
        code = self._process.returncode
        return signal.Signals(-code).name if code is not None and code < 0 else None

    def exception(self) -> Json | None:
        """The uncaught exception that ended the job, if the job has written one to its file."""
        if self._exception_file is None:
            return None
        try:
            exception: Json = json.loads(self._exception_file.read_text())
        except (OSError, ValueError):
            return None
        return exception


class SignalReceiver(Protocol):
    """Something that signals can be sent to."""

    def send(self, number: int) -> None: ...


@contextlib.contextmanager
def signals_to(job: SignalReceiver) -> Iterator[None]:
    """Forwards signals that would end this process to the job.

    This process then ends after the job. Ctrl-C in a terminal reaches the job
    directly and is not forwarded.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def forward(number: int, frame: object) -> None:
        if number == signal.SIGINT and _terminal_sends_interrupts():
            return
        job.send(number)

    previous = {number: signal.signal(number, forward) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _terminal_sends_interrupts() -> bool:
    """Whether this process and the job are in the foreground of a terminal."""
    try:
        with open("/dev/tty") as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False
