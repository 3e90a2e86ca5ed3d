"""The process that evaluates a job's rules in Python: `graphdbg rulehost`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .client import Json

# A rule that does not react to its own time limit of 10 s, such as C code that holds the interpreter's lock.
_SILENCE_SECONDS = 20.0
_READ_BYTES = 1 << 16


@dataclass
class HostedRule:
    """A rule, and how far it has been evaluated.

    Attributes:
        entry: The rule as the configuration writes it.
        counts: Its observations, those among them that are unknown, and what is missing.
        state: "running", "done" or "failed".
        error: Why it was switched off.
    """

    entry: Mapping[str, object]
    counts: Json = field(default_factory=lambda: {"observations": 0, "unknown": 0, "missing": ""})
    state: str = "running"
    error: str = ""


class RuleProcess:
    """Evaluates rules in a process of its own.

    If it dies, it is started again without the rule that it was at; if it was at none, once.

    Args:
        rules: The rules by name, as the configuration writes them.
        files: Python files with rules.
        run: The directory of the recording.
        found: Receives findings; each once, also if the process was started again.
        silence_seconds: After how long without a sign of life the process is killed.
    """

    def __init__(
        self,
        rules: Mapping[str, Mapping[str, object]],
        files: Sequence[str],
        run: str,
        found: Callable[[Json], None],
        silence_seconds: float = _SILENCE_SECONDS,
    ) -> None:
        self.rules = {name: HostedRule(entry) for name, entry in rules.items()}
        self._command = [
            sys.executable,
            "-m",
            "graphdbg.cli.main",
            "rulehost",
            *(f"--rules-from={file}" for file in files),
        ]
        self._run = run
        self._found = found
        self._silence_seconds = silence_seconds
        self._known: set[str] = set()
        self._starts = 0
        self._paused = False
        self._over = False
        self._process: subprocess.Popen[bytes] | None = None
        self._start()

    @property
    def is_running(self) -> bool:
        return self._process is not None

    def update(self) -> None:
        """Handles what the process has reported, and its end."""
        process = self._process
        if process is None:
            return
        for message in self._messages():
            self._handle(message)
        if process.poll() is not None:
            # It may have written its last lines since.
            for message in self._messages():
                self._handle(message)
            self._ended(process.returncode)
        elif self._at is not None and time.monotonic() - self._heard > self._silence_seconds:
            self._switch_off(
                self._at, f"a call took more than {self._silence_seconds:g} s and could not be interrupted"
            )
            self._end(process)
            self._ended(None)

    def set_paused(self, paused: bool) -> None:
        """While the job is paused no time passes for rules on silence."""
        if paused != self._paused:
            self._paused = paused
            self._send({"paused": paused})

    def job_is_over(self) -> None:
        """Lets the process evaluate what is left, and end."""
        self._over = True
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._end(self._process)
            self._process = None

    def _start(self) -> None:
        self._starts += 1
        self._numbers = [name for name, rule in self.rules.items() if rule.state == "running"]
        self._rest = b""
        self._at: str | None = None
        self._error = ""
        self._heard = time.monotonic()
        if not self._numbers:
            return
        # A rule that imports PyTorch is not to be debugged.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GRAPHDBG_")}
        # Ctrl-C is for the job; the rules are still evaluated at its end.
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
        )
        assert self._process.stdout
        os.set_blocking(self._process.stdout.fileno(), False)
        self._send({"rules": [self.rules[name].entry for name in self._numbers], "run": self._run})
        if self._paused:
            self._send({"paused": True})
        if self._over:
            self.job_is_over()

    def _send(self, message: Json) -> None:
        if self._process is None or self._process.stdin is None or self._process.stdin.closed:
            return
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            # Its end is noticed by `update`.
            pass

    def _messages(self) -> Iterator[Json]:
        assert self._process and self._process.stdout
        while content := self._process.stdout.read(_READ_BYTES):
            *lines, self._rest = (self._rest + content).split(b"\n")
            self._heard = time.monotonic()
            yield from map(json.loads, lines)

    def _handle(self, message: Json) -> None:
        if "at" in message:
            self._at = None if message["at"] is None else self._numbers[message["at"]]
        elif "switched_off" in message:
            self._switch_off(self._numbers[message["switched_off"]], message["error"])
        elif "finding" in message:
            key = json.dumps(message["finding"], sort_keys=True)
            if key not in self._known:
                self._known.add(key)
                self._found(message["finding"])
        elif "counts" in message:
            self.rules[self._numbers[message["rule"]]].counts = message["counts"]
        elif "error" in message:
            self._error = message["error"]

    def _switch_off(self, name: str, error: str) -> None:
        rule = self.rules[name]
        rule.state, rule.error = "failed", error

    def _ended(self, code: int | None) -> None:
        """The process has ended by itself, or was killed (None)."""
        self._process = None
        running = [name for name, rule in self.rules.items() if rule.state == "running"]
        if code == 0 and self._over:
            for name in running:
                self.rules[name].state = "done"
        elif self._error:
            for name in running:
                self._switch_off(name, self._error)
        elif self._at is not None or self._starts == 1:
            if code is not None and self._at is not None:
                self._switch_off(self._at, f"it ended the process of the rules in Python, with exit code {code}")
            self._start()
        else:
            for name in running:
                self._switch_off(name, f"the process of the rules in Python ended twice, with exit code {code}")

    @staticmethod
    def _end(process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait()
