"""Runs Bazel with one line of progress: what is built, how much of it, and how long it may take.

    bazel_progress.py "building the server" build --config=demo //server/main:graphdbg_server

On a terminal the line is rewritten, elsewhere one is printed every half minute. What
else Bazel prints (warnings, errors, compilers' messages) is passed on.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections import deque

# "[312 / 480] Compiling server/http/connection.cc; 7s linux-sandbox"
_ACTIONS = re.compile(r"^\[([\d,]+) / ([\d,]+)\]")
# Lines that Bazel prints in any case.
_CHATTER = re.compile(
    r"^(Loading:|Analyzing:|INFO: (?!From )|Target |  bazel-|    currently loading:|    Fetching |\s*$"
    r"|Starting local Bazel|\.\.\.)"
)
# The time left is that of the last minutes' pace: cached actions take none.
_WINDOW_SECONDS = 120.0
_FIRST_ESTIMATE_SECONDS = 15.0
# Bazel counts actions as it discovers them; until it has discovered all, the number left is unknown.
_TOTAL_IS_KNOWN_SECONDS = 20.0
_LINE_EVERY_SECONDS = 30.0


class Progress:
    """Follows Bazel's own progress."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._samples: deque[tuple[float, int]] = deque()
        self._done = 0
        self._total = 0
        self._total_since = 0.0

    def follow(self, line: str, now: float) -> bool:
        """Returns whether the line is one of progress. `now` is in seconds."""
        found = _ACTIONS.match(line)
        if found is None:
            return False
        self._done, total = (int(number.replace(",", "")) for number in found.groups())
        if total != self._total:
            self._total, self._total_since = total, now
        self._samples.append((now, self._done))
        while now - self._samples[0][0] > _WINDOW_SECONDS:
            self._samples.popleft()
        return True

    def seconds_left(self) -> float | None:
        """An estimate, or None as long as the pace or the number of actions is unknown."""
        if not self._samples:
            return None
        (start, before), (now, done) = self._samples[0], self._samples[-1]
        if now - start < _FIRST_ESTIMATE_SECONDS or done == before:
            return None
        if now - self._total_since < _TOTAL_IS_KNOWN_SECONDS:
            return None
        return (self._total - done) * (now - start) / (done - before)

    def __str__(self) -> str:
        left = self.seconds_left()
        if left is None:
            time_left = ""
        elif left < 60:
            time_left = ", less than a minute left"
        else:
            time_left = f", about {left / 60:.0f} min left"
        return f"== {self._title}: {self._done} of {self._total}{time_left}"


class Display:
    """Shows the line of progress on stderr."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._shown = ""
        self._printed = -_LINE_EVERY_SECONDS

    def show(self, text: str, now: float) -> None:
        if self._terminal:
            self._clear()
            sys.stderr.write(text)
            self._shown = text
        elif now - self._printed >= _LINE_EVERY_SECONDS:
            sys.stderr.write(text + "\n")
            self._printed = now
        sys.stderr.flush()

    def say(self, line: str) -> None:
        self._clear()
        sys.stderr.write(line + "\n")
        sys.stderr.flush()

    def _clear(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            self._shown = ""

    def end(self) -> None:
        if self._shown:
            sys.stderr.write("\n")


def run(title: str, arguments: list[str]) -> int:
    """Returns Bazel's exit code."""
    command, *options = arguments
    quiet = ["--color=no", "--curses=no", "--show_progress_rate_limit=1"]
    bazel = subprocess.Popen(["bazel", command, *quiet, *options], stderr=subprocess.PIPE, text=True, errors="replace")
    assert bazel.stderr is not None
    progress, display = Progress(title), Display()
    while True:
        try:
            for line in bazel.stderr:
                line, now = line.rstrip("\n"), time.monotonic()
                if progress.follow(line, now):
                    display.show(str(progress), now)
                elif not _CHATTER.match(line):
                    display.say(line)
            display.end()
            return bazel.wait()
        except KeyboardInterrupt:
            # Bazel got it as well, and ends when its compilers have.
            continue


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:]))
