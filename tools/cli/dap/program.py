"""The program that a session has launched."""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import signal
import subprocess
import threading
import time
from typing import IO

from ..errors import CliError
from ..job_process import job_environment
from ..server_process import ServerProcess
from .connection import Connection
from .errors import RequestError
from .launch_arguments import LaunchArguments
from .wire import Json

_POLL_SECONDS = 0.05
_CHUNK = 16 << 10
# How long a program that was asked to end may take.
_END_SECONDS = 15.0
# After SIGTERM.
_KILL_SECONDS = 5.0
# A terminal of the client may ask the user first.
_TERMINAL_SECONDS = 60.0
# What a console may get from a program: lines and tabs, but no control sequences.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class Program:
    """A process with its output, or one in a terminal of the client."""

    def __init__(self, arguments: LaunchArguments, server: ServerProcess | None, connection: Connection) -> None:
        """
        Args:
            server: The server that it connects to; None: it runs without the debugger.
        """
        self.arguments = arguments
        self.pid: int | None = None
        self._server = server
        self._connection = connection
        self._process: subprocess.Popen[bytes] | None = None
        self._readers: list[threading.Thread] = []
        self._ended = threading.Event()
        self._known = set() if server is None else {job["id"] for job in server.client.get("/jobs")["jobs"]}

    def start(self) -> None:
        """Starts it here. Its output becomes `output` events.

        Raises:
            CliError: It cannot be started.
        """
        command = self.arguments.command
        try:
            process = subprocess.Popen(
                command,
                env=self._environment(),
                cwd=self.arguments.cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # Ctrl-C in the terminal of an editor is not meant for it.
                start_new_session=True,
            )
        except OSError as error:
            raise CliError(f"cannot run {command[0]}: {error.strerror}") from None
        self._process, self.pid = process, process.pid
        for stream, category in ((process.stdout, "stdout"), (process.stderr, "stderr")):
            assert stream is not None
            reader = threading.Thread(target=self._forward, args=(stream, category), daemon=True)
            reader.start()
            self._readers.append(reader)

    def start_in_terminal(self) -> None:
        """Has the client start it in a terminal.

        Raises:
            RequestError: The client did not.
        """
        arrived = threading.Event()
        response: Json = {}

        def answer(message: Json) -> None:
            response.update(message)
            arrived.set()

        arguments = {
            "kind": "integrated",
            "title": "graphdbg",
            "cwd": self.arguments.cwd,
            "args": self.arguments.command,
            "env": self._changes(),
        }
        self._connection.request("runInTerminal", arguments, answer)
        if not arrived.wait(_TERMINAL_SECONDS):
            raise RequestError("the client did not start the program in a terminal")
        if response.get("success") is not True:
            raise RequestError(f"the client could not start the program: {response.get('message', '')}")
        body = response.get("body") or {}
        self.pid = body.get("processId") if type(body.get("processId")) is int else None

    @property
    def needs_session(self) -> bool:
        """Whether it cannot go on without this process, which reads its output."""
        return self._process is not None

    def next_job(self) -> str | None:
        """Waits for a job that it starts; None when it has ended.

        Raises:
            CliError: The server has gone.
        """
        while True:
            ended = self.has_ended()
            if self._server is not None:
                jobs = sorted(self._server.client.get("/jobs")["jobs"], key=lambda job: str(job["created_at"]))
                new = [job for job in jobs if job["id"] not in self._known]
                if new and not (ended and new[0]["state"] == "lost"):
                    self._known.add(new[0]["id"])
                    return str(new[0]["id"])
            if ended:
                return None
            time.sleep(_POLL_SECONDS)

    def has_ended(self) -> bool:
        if self._process is not None:
            return self._process.poll() is not None
        return self._ended.is_set() or (self.pid is not None and not _exists(self.pid))

    def job_has_ended(self) -> None:
        """Of a program in a terminal this is all that is seen."""
        if self._process is None and self.pid is None:
            self._ended.set()

    def exit_code(self) -> int | None:
        """Waits for its end and its output. None if only the terminal knows."""
        if self._process is None:
            return None
        code = self._process.wait()
        for reader in self._readers:
            # A process that it has left behind may keep the pipe open.
            reader.join(1)
        return 128 - code if code < 0 else code

    def end(self) -> None:
        """Ends it at once: SIGTERM, then SIGKILL."""
        self._ended.set()
        process = self._process
        if process is None and self.pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, signal.SIGTERM)
        if process is None or process.poll() is not None:
            return
        _signal_group(process, signal.SIGTERM)
        try:
            process.wait(_KILL_SECONDS)
        except subprocess.TimeoutExpired:
            _signal_group(process, signal.SIGKILL)
            process.wait()

    def end_later(self) -> None:
        """Ends it if it does not end by itself."""
        timer = threading.Timer(_END_SECONDS, self.end)
        timer.daemon = True
        timer.start()

    def _environment(self) -> dict[str, str]:
        """The whole environment of the program."""
        given = os.environ | self.arguments.environment
        kept = {name: value for name, value in given.items() if value is not None}
        if self.arguments.record:
            kept["GRAPHDBG_RECORD"] = self.arguments.record
        if self._server is None:
            return kept
        # A pause at an exception lets the user look at what has led to it.
        return job_environment(self.arguments.command, self._server, {"GRAPHDBG_ON_ERROR": "pause", **kept})

    def _changes(self) -> dict[str, str | None]:
        """What differs from the environment of this process, as that of a terminal does; None removes a variable."""
        whole = self._environment()
        changed = {name: value for name, value in whole.items() if os.environ.get(name) != value}
        return {**dict.fromkeys(name for name in os.environ if name not in whole), **changed}

    def _forward(self, stream: IO[bytes], category: str) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while True:
            part = os.read(stream.fileno(), _CHUNK)
            text = safe(decoder.decode(part, final=not part))
            if text:
                self._connection.event("output", {"category": category, "output": text})
            if not part:
                return


def safe(text: str) -> str:
    """Text of a program without what controls a terminal."""
    return _CONTROLS.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text)


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    """Sends a signal to a process and to those that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _exists(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False
