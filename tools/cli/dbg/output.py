"""What the debugger prints: plain text, or colours and tables where a terminal shows them.

All texts may come from a job, so control characters are escaped here and nowhere else.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Any, ClassVar, TextIO

from ..terminal import visible


class Output:
    """Prints lines, tables and source code as plain text."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    @property
    def stream(self) -> TextIO:
        # Looked up at each use: a prompt replaces sys.stdout.
        return self._stream or sys.stdout

    def line(self, text: str = "", style: str = "") -> None:
        """One line; of a text of several lines, each. `style`: "stop", "name", "dim", "error" or "title"."""
        for each in text.split("\n"):
            print(visible(each), file=self.stream, flush=True)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Rows below their titles; numbers are aligned to the right."""
        cells = [[visible(cell) for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
        right = [
            bool(rows) and all(isinstance(row[place], (int, float)) for row in rows) for place in range(len(columns))
        ]
        for row in [list(columns), *cells]:
            parts = [
                cell.rjust(width) if to_right else cell.ljust(width)
                for cell, width, to_right in zip(row, widths, right, strict=True)
            ]
            self.line("  ".join(parts).rstrip())

    def pairs(self, rows: Sequence[tuple[str, object]]) -> None:
        """Names with what they are."""
        width = max((len(visible(name)) for name, _ in rows), default=0)
        for name, value in rows:
            self.line(f"{visible(name):{width}}  {value}")

    def source(self, file: str, lines: Sequence[str], first: int, current: int, marked: Sequence[int]) -> None:
        """Lines of a file.

        Args:
            file: Its name.
            lines: The lines, of which the first has the number `first`.
            current: The line that gets an arrow; 0 for none.
            marked: Lines with breakpoints.
        """
        for number, text in enumerate(lines, first):
            self.line(f"{self.margin(number, current, marked)}{text.expandtabs(4)}".rstrip())

    @staticmethod
    def margin(number: int, current: int, marked: Sequence[int]) -> str:
        """What precedes a line of source."""
        return f"{'*' if number in marked else ' '}{'->' if number == current else '  '} {number:4}  "


class ColourOutput(Output):
    """The same with rich."""

    STYLES: ClassVar[dict[str, str]] = {
        "stop": "bold yellow",
        "name": "cyan",
        "dim": "dim",
        "error": "bold red",
        "title": "bold",
    }

    def __init__(self, console: Any = None) -> None:
        super().__init__()
        self._given = console

    @property
    def console(self) -> Any:
        if self._given is not None:
            return self._given
        from rich.console import Console

        return Console(file=self.stream, force_terminal=True, highlight=False, soft_wrap=True, emoji=False)

    def line(self, text: str = "", style: str = "") -> None:
        from rich.text import Text

        for each in text.split("\n"):
            self.console.print(Text(visible(each), style=self.STYLES.get(style, "")))

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for place, title in enumerate(columns):
            numbers = bool(rows) and all(isinstance(row[place], (int, float)) for row in rows)
            table.add_column(title, justify="right" if numbers else "left", no_wrap=True)
        for row in rows:
            table.add_row(*(Text(visible(cell)) for cell in row))
        self.console.print(table)

    def source(self, file: str, lines: Sequence[str], first: int, current: int, marked: Sequence[int]) -> None:
        from rich.syntax import Syntax
        from rich.text import Text

        syntax = Syntax("", "python" if file.endswith(".py") else "text", theme="ansi_dark", background_color="default")
        for number, text in enumerate(lines, first):
            margin = Text(self.margin(number, current, marked), style="bold yellow" if number == current else "dim")
            code = syntax.highlight(visible(text.expandtabs(4)))
            code.rstrip()
            self.console.print(margin + code)


def make_output() -> Output:
    """With colours on a terminal, unless NO_COLOR is set or rich is missing."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return Output()
    with contextlib.suppress(ImportError):
        import rich  # noqa: F401

        return ColourOutput()
    return Output()
