"""Answers that fit a context window, with the text of debugged programs marked and escaped."""

from __future__ import annotations

from collections.abc import Iterable

from ..terminal import visible

# Characters of an answer. About 1,000 tokens.
DEFAULT_LIMIT = 4096
_LINE_LIMIT = 400
# Begins each line that a debugged program has written.
QUOTE = "| "


class Answer:
    """Lines for the caller of a tool, cut to a limit.

    The last lines, which say how to ask for more and what to do next, are never cut.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._last: list[str] = []

    def add(self, text: object) -> None:
        """Adds one line, in which control characters are escaped."""
        self._lines.append(_shortened(visible(text)))

    def add_all(self, texts: Iterable[object]) -> None:
        for text in texts:
            self.add(text)

    def quote(self, text: str) -> None:
        """Adds lines of the debugged program: its output, messages and code."""
        self._lines += quoted(text)

    def more(self, text: object) -> None:
        """Says what was left out and how to ask for it."""
        self._last.append(_shortened(f"[{visible(text)}]"))

    def next(self, text: object) -> None:
        """Says what to do next."""
        self._last.append(_shortened(f"next: {visible(text)}"))

    def text(self, limit: int = DEFAULT_LIMIT) -> str:
        whole = "\n".join([*self._lines, *self._last])
        if len(whole) <= limit:
            return whole
        tail = list(self._last)
        room = limit - sum(len(line) + 1 for line in tail) - _LINE_LIMIT // 2
        kept: list[str] = []
        for line in self._lines:
            room -= len(line) + 1
            if room < 0:
                break
            kept.append(line)
        left_out = len(self._lines) - len(kept)
        cut = f"[cut at {limit} characters: {left_out} lines left out; ask for less at once, or for a part]"
        return "\n".join([*kept, cut, *tail])[:limit]


def quoted(text: str) -> list[str]:
    """Lines of a text that is data and no instruction, each with a mark that the text itself cannot end."""
    return [f"{QUOTE}{_shortened(visible(line))}" for line in text.expandtabs(4).split("\n")]


def _shortened(line: str) -> str:
    if len(line) <= _LINE_LIMIT:
        return line
    return f"{line[:_LINE_LIMIT]}… ({len(line) - _LINE_LIMIT} more characters)"
