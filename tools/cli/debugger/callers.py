"""The functions that the program is in where it stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .frames import Frame
from .source_lines import function_at


class Callers:
    def __init__(self, frames: Sequence[Frame], text_of: Callable[[str], str | None]) -> None:
        """`text_of` returns the content of a file; None if it is unknown."""
        self._text_of = text_of
        self._lines = [(each.file, each.line) for each in frames if each.line and not each.subtle]

    def have(self, file: str, line: int) -> bool:
        """Whether a line is in one of them."""
        text = self._text_of(file) if any(file == each for each, _ in self._lines) else None
        if text is None or not line:
            return False
        function = function_at(text, line)
        return any(function_at(text, own) is function for each, own in self._lines if each == file)
