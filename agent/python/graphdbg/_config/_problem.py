"""One error in a configuration file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """An error with its place in the file.

    Attributes:
        line: Counted from 1; 0 if the error concerns the whole file.
        key: The path of the key, such as `save.every` or `rules[2].when`; "" at the top.
        message: What is wrong and, if known, what would be right.
    """

    line: int
    key: str
    message: str

    def describe(self, file: str) -> str:
        """The error as compilers write it: FILE:LINE: KEY: MESSAGE."""
        place = f"{file}:{self.line}" if self.line else file
        return f"{place}: {self.key}: {self.message}" if self.key else f"{place}: {self.message}"
