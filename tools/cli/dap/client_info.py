"""What the client has said about itself in `initialize`."""

from __future__ import annotations

import urllib.parse
from dataclasses import dataclass
from pathlib import Path

from .errors import RequestError
from .wire import Json


@dataclass(frozen=True)
class ClientInfo:
    """How the client counts, how it writes paths, and what it supports.

    Attributes:
        first_line, first_column: The numbers of the first line and column, 0 or 1.
        uses_uris: Whether it writes paths as file: URIs.
        abilities: The names of what it supports, such as "supportsProgressReporting".
    """

    first_line: int = 1
    first_column: int = 1
    uses_uris: bool = False
    abilities: frozenset[str] = frozenset()

    @classmethod
    def from_arguments(cls, arguments: Json) -> ClientInfo:
        return cls(
            first_line=0 if arguments.get("linesStartAt1") is False else 1,
            first_column=0 if arguments.get("columnsStartAt1") is False else 1,
            uses_uris=arguments.get("pathFormat") == "uri",
            abilities=frozenset(name for name, value in arguments.items() if value is True),
        )

    def supports(self, name: str) -> bool:
        return name in self.abilities

    def line_to(self, line: int) -> int:
        """A line, counted from 1, as the client counts."""
        return max(line, 1) - 1 + self.first_line

    def line_from(self, line: object) -> int:
        """A line of the client, counted from 1.

        Raises:
            RequestError: It is none.
        """
        if type(line) is not int or line < self.first_line:
            raise RequestError(f"{line} is not the number of a line")
        return line - self.first_line + 1

    def column_to(self, column: int) -> int:
        """A column, counted from 1, as the client counts."""
        return column - 1 + self.first_column

    def column_from(self, column: object) -> int:
        """A column of the client, counted from 1; the first one if it has not named any."""
        return column - self.first_column + 1 if type(column) is int else 1

    def source_to(self, file: str, *, subtle: bool = False) -> Json:
        """A file as the client's `Source`."""
        path = Path(file).as_uri() if self.uses_uris and Path(file).is_absolute() else file
        hint = {"presentationHint": "deemphasize"} if subtle else {}
        return {"name": Path(file).name, "path": path, **hint}

    def source_from(self, source: object) -> str:
        """The file of a client's `Source`.

        Raises:
            RequestError: It names none.
        """
        path = source.get("path") or source.get("name") if isinstance(source, dict) else None
        if not isinstance(path, str) or not path:
            raise RequestError("the source has no path")
        return urllib.parse.unquote(urllib.parse.urlsplit(path).path) if path.startswith("file:") else path
