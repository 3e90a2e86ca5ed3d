"""Runs a program under the observer."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ..errors import USAGE, CliError
from ..job_process import signals_to

_INJECT = Path(__file__).resolve().parents[2] / "_inject"
_POLL_SECONDS = 0.1
# The time that a program has to end after its last step that is checked.
_END_SECONDS = 60.0
_KILL_SECONDS = 10.0


@dataclass
class Ending:
    """How a program ended.

    Attributes:
        code: The exit code; 128 + n after signal n.
        signal: The name of the signal that ended it, or None.
        seconds: How long it ran.
        timed_out: Whether it was ended after `--timeout`.
    """

    code: int
    signal: str | None
    seconds: float
    timed_out: bool = False


@dataclass
class CheckedJob:
    """A program, how many steps of it to run, and its surroundings."""

    command: Sequence[str]
    environment: dict[str, str]
    steps: int
    fingerprints: bool
    timeout: float | None
    # The job's standard output and error; None passes them through.
    stdout: IO[bytes] | int | None = None
    stderr: IO[bytes] | int | None = None

    def run(self, directory: Path) -> Ending:
        """Runs the program to its end. Its processes write their events to `directory`.

        Raises:
            CliError: The program cannot be started.
        """
        environment = os.environ | self.environment
        path = environment.get("PYTHONPATH")
        environment |= {
            "GRAPHDBG_ENABLE": "1",
            "GRAPHDBG_CHECK": str(directory),
            "GRAPHDBG_CHECK_STEPS": str(self.steps),
            "GRAPHDBG_CHECK_REPEAT": "1" if self.fingerprints else "0",
            "PYTHONPATH": f"{_INJECT}{os.pathsep}{path}" if path else str(_INJECT),
        }
        began = time.monotonic()
        try:
            process = subprocess.Popen(list(self.command), env=environment, stdout=self.stdout, stderr=self.stderr)
        except OSError as error:
            raise CliError(f"cannot run {self.command[0]}: {error.strerror}", USAGE) from None
        with signals_to(_Receiver(process)):
            timed_out = self._wait(process, directory, began)
        code = process.returncode
        name = signal.Signals(-code).name if code < 0 and not timed_out else None
        return Ending(128 - code if code < 0 else code, name, time.monotonic() - began, timed_out)

    def _wait(self, process: subprocess.Popen[bytes], directory: Path, began: float) -> bool:
        """Waits for the end. Returns whether `timeout` has ended the program."""
        complete_since: float | None = None
        while True:
            try:
                process.wait(_POLL_SECONDS)
                return False
            except subprocess.TimeoutExpired:
                now = time.monotonic()
            if self.timeout is not None and now - began > self.timeout:
                _end(process)
                return True
            if complete_since is None and _is_complete(directory):
                complete_since = now
            if complete_since is not None and now - complete_since > _END_SECONDS:
                _end(process)
                return False


def _is_complete(directory: Path) -> bool:
    return any(b'"event": "complete"' in file.read_bytes() for file in directory.glob("*.jsonl"))


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_KILL_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@dataclass
class _Receiver:
    process: subprocess.Popen[bytes]

    def send(self, number: int) -> None:
        self.process.send_signal(number)
