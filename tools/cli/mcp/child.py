"""The process of a command that the MCP server runs: it ends when the server does, however that ends.

Its arguments are `FD run DIRECTORY`, which debugs the command of DIRECTORY/spec.json, or `FD graphdbg ARGUMENTS`, a
command line of graphdbg. FD is the read end of a pipe whose write end only the MCP server has: at the end of file the
server has closed it, or has ended.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TextIO

from ..client import Json
from ..configuration import read
from ..debug_run import RunOptions, debug
from ..errors import CliError
from ..main import main as graphdbg
from ..terminal import visible
from .child_files import ADDRESS, MESSAGES, RESULT, SPEC
from .descendants import adopt_orphans, kill_descendants

# How long a program may take to end by itself, and launchers to end what they have started. Then all are killed.
_END_SECONDS = 20.0
_POLL_SECONDS = 0.1


class _LifeLine:
    """Ends this process, and the program in it, when the MCP server is gone."""

    def __init__(self, descriptor: int, idle: Callable[[int, FrameType | None], None], ends_idle: bool) -> None:
        """
        Args:
            descriptor: The read end of the pipe.
            idle: The handler of SIGTERM while no program runs; while one runs, graphdbg forwards the signal to it.
            ends_idle: Whether SIGTERM is sent also while no program runs.
        """
        self._cut = threading.Event()
        self._idle = idle
        self._ends_idle = ends_idle
        os.set_inheritable(descriptor, False)
        signal.signal(signal.SIGTERM, idle)
        threading.Thread(target=self._watch, args=(descriptor,), daemon=True).start()

    def wait(self) -> None:
        """Waits until the server is gone."""
        while not self._cut.wait(_POLL_SECONDS):
            pass

    def _watch(self, descriptor: int) -> None:
        while os.read(descriptor, 1):
            pass
        self._cut.set()
        deadline = time.monotonic() + _END_SECONDS
        sent = False
        while time.monotonic() < deadline:
            if not sent and (self._ends_idle or signal.getsignal(signal.SIGTERM) is not self._idle):
                os.kill(os.getpid(), signal.SIGTERM)
                sent = True
            time.sleep(_POLL_SECONDS)
        kill_descendants()
        os.killpg(0, signal.SIGKILL)


def _ignore(number: int, frame: FrameType | None) -> None:
    """Does nothing. Unlike SIG_IGN, programs do not inherit it."""


def _exit(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


def main() -> int:
    descriptor, kind = int(sys.argv[1]), sys.argv[2]
    adopt_orphans()
    try:
        return _main(descriptor, kind)
    finally:
        kill_descendants()


def _main(descriptor: int, kind: str) -> int:
    if kind == "graphdbg":
        _LifeLine(descriptor, _exit, ends_idle=True)
        return graphdbg(sys.argv[3:])
    line = _LifeLine(descriptor, _ignore, ends_idle=False)
    directory = Path(sys.argv[3])
    # Messages of graphdbg are not among the program's output.
    with open(directory / MESSAGES, "w", buffering=1) as messages:
        sys.stderr = messages
        try:
            return _run(directory, line, messages)
        finally:
            sys.stderr = sys.__stderr__


def _run(directory: Path, line: _LifeLine, messages: TextIO) -> int:
    spec: Json = json.loads((directory / SPEC).read_text())

    def announce(url: str) -> None:
        _write(directory / ADDRESS, url.partition("/#")[0])

    def on_result(result: Json) -> None:
        _write(directory / RESULT, json.dumps(result))
        # What the job has left can be read until then.
        line.wait()

    try:
        configured = read(Path(spec["config"]) if spec["config"] else None)
        options = RunOptions(
            wait=spec["stop_at_start"],
            steps=spec["steps"],
            break_on=spec["break_on"],
            on_hit=spec["on_hit"],
            on_error="pause",
            environment=spec["environment"],
            record=spec["record"],
            capture=spec["capture"],
            configuration=configured,
            announce=announce,
            on_result=on_result,
        )
        debug(spec["command"], options)
    except CliError as error:
        print(f"graphdbg: {visible(error)}", file=messages)
        return error.exit_code
    return 0


def _write(file: Path, text: str) -> None:
    """Writes a file that has its whole content as soon as it exists."""
    part = file.with_suffix(".part")
    part.write_text(text)
    part.rename(file)
