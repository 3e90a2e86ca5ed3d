"""A line on the terminal that shows how far a command is."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

from .terminal import visible

# Commands that end sooner show no line.
_AFTER_SECONDS = 0.5
_EVERY_SECONDS = 0.2
_BAR_WIDTH = 30


class Progress:
    """A line on stderr, if that is a terminal, while a `with` block runs that takes longer than half a second.

    The line is written again by a thread of its own, so that it appears in time and shows that work goes on between
    two reports, too: until there is a first one, it shows `text` and the elapsed time. It is removed at the end.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._done = self._total = 0
        self._begin = time.monotonic()
        self._width = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._refresh, daemon=True)

    def __enter__(self) -> Progress:
        if sys.stderr.isatty():
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread.ident is None:
            return
        self._thread.join()
        if self._width:
            print(f"\r{'':{self._width}}\r", end="", file=sys.stderr, flush=True)

    def show(self, text: str, done: int = 0, total: int = 0) -> None:
        """Shows a text, and behind it a bar of how much is done of a total, or the elapsed time if `total` is 0."""
        self._text, self._done, self._total = text, done, total

    def of(self, text: str) -> Callable[[int, int], None]:
        """Returns a function that shows a text with the completed part of the total."""
        return lambda done, total: self.show(text, done, total)

    def _refresh(self) -> None:
        pause = _AFTER_SECONDS
        while not self._ended.wait(pause):
            pause = _EVERY_SECONDS
            line = visible(self._text) + self._how_far()
            print(f"\r{line:{self._width}}", end="", file=sys.stderr, flush=True)
            self._width = len(line)

    def _how_far(self) -> str:
        if self._total <= 0:
            return f", {time.monotonic() - self._begin:.0f} s"
        share = min(1.0, self._done / self._total)
        filled = round(share * _BAR_WIDTH)
        return f" [{'#' * filled}{'.' * (_BAR_WIDTH - filled)}] {share:4.0%}"
