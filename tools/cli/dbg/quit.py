"""The end of a session that the user asks for."""

from __future__ import annotations


class Quit(Exception):
    """The user leaves. `code` is the exit code."""

    def __init__(self, code: int = 0) -> None:
        super().__init__()
        self.code = code
