"""The end of a session that the user asks for, or of its job, which then starts again."""

from __future__ import annotations

from collections.abc import Sequence


class Quit(Exception):
    """The user leaves. `code` is the exit code."""

    def __init__(self, code: int = 0) -> None:
        super().__init__()
        self.code = code


class Again(Exception):
    """The program is started again. `lines` are executed then."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__()
        self.lines = lines
