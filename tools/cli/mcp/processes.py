"""Processes that the MCP server starts, none of which outlives it."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from graphdbg.client import GraphdbgError

from ..client import Json
from .child_files import ADDRESS, MESSAGES, RESULT, SPEC

_OUTPUT = "output"
# Without the working directory among the places of modules, where the program's files are.
_START = "import sys; sys.path.remove(''); from graphdbg.cli.mcp.child import main; sys.exit(main())"
_POLL_SECONDS = 0.05
_TAIL_BYTES = 64 << 10


class Processes:
    """Starts processes, each with a directory of its own. Thread-safe."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._started: list[Child] = []

    def start_run(self, spec: Json, cwd: str | None) -> Child:
        """Debugs a command. `spec` is what child.py reads."""
        directory = self._new_directory()
        (directory / SPEC).write_text(json.dumps(spec))
        return self._started_child(Child(["run", str(directory)], directory, cwd, passing_stops(spec)))

    def start_graphdbg(self, arguments: Sequence[str], cwd: str | None) -> Child:
        """Runs a command line of graphdbg."""
        return self._started_child(Child(["graphdbg", *arguments], self._new_directory(), cwd))

    def close(self, seconds: float) -> None:
        """Ends all of them. Those that take longer than this end by themselves soon after."""
        with self._lock:
            children, self._started = self._started, []
        for child in children:
            child.let_go()
        deadline = time.monotonic() + seconds
        while any(child.is_running() for child in children) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)

    def _new_directory(self) -> Path:
        directory = self._directory / f"command-{next(self._numbers)}"
        directory.mkdir()
        return directory

    def _started_child(self, child: Child) -> Child:
        with self._lock:
            self._started = [each for each in self._started if each.is_running()] + [child]
        return child


def passing_stops(spec: Json) -> frozenset[str]:
    """The reasons of pauses that the command itself ends, by continuing or terminating the job."""
    passing = {
        "start": not spec["stop_at_start"],
        "watchpoint": spec["on_hit"] == "terminate",
        "step": spec["steps"] is not None,
    }
    return frozenset(reason for reason, passes in passing.items() if passes)


class Child:
    """A process and what it writes.

    Attributes:
        passing: Of a run, the reasons of pauses at which it does not wait.
        output: The file with its standard output, and unless they are apart, its standard error.
        errors: The file with graphdbg's messages about it.
    """

    def __init__(
        self, arguments: Sequence[str], directory: Path, cwd: str | None, passing: frozenset[str] = frozenset()
    ) -> None:
        self.passing = passing
        self.directory = directory
        self.output = directory / _OUTPUT
        self.errors = directory / MESSAGES
        # A run has messages of its own, and its program's outputs stay in order.
        apart = arguments[0] != "run"
        reading, line = os.pipe()
        self._line = [line]
        command = [sys.executable, "-c", _START, str(reading), *arguments]
        try:
            with open(self.output, "ab") as output, open(self.errors, "ab") as errors:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=errors if apart else output,
                    cwd=cwd,
                    pass_fds=[reading],
                    start_new_session=True,
                )
        except OSError as error:
            self.let_go()
            raise GraphdbgError(f"cannot start in {cwd}: {error.strerror}") from None
        finally:
            os.close(reading)

    def is_running(self) -> bool:
        return self._process.poll() is None

    def is_working(self) -> bool:
        """Of a run: whether the program runs. After it the process itself waits, for its results to be read."""
        return self.is_running() and self.result() is None

    def has_ended(self, seconds: float) -> bool:
        """Waits for its end up to this time."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def let_go(self) -> None:
        """Ends the command, if it still runs, and then the process, which this does not wait for."""
        with contextlib.suppress(IndexError):
            os.close(self._line.pop())

    def address(self) -> str | None:
        """The address of the server of a run, once it is there."""
        return _read(self.directory / ADDRESS)

    def result(self) -> Json | None:
        """The result object of a run that has ended."""
        text = _read(self.directory / RESULT)
        return None if text is None else json.loads(text)

    def output_tail(self) -> str:
        """The end of what the program has written."""
        return _tail(self.output)

    def messages(self) -> str:
        """The end of what graphdbg has said."""
        return _tail(self.errors)


def _read(file: Path) -> str | None:
    try:
        return file.read_text()
    except OSError:
        return None


def _tail(file: Path) -> str:
    try:
        with open(file, "rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - _TAIL_BYTES))
            return stream.read().decode(errors="replace")
    except OSError:
        return ""
