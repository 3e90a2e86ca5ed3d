"""Draws a session of the terminal debugger with a real job: `dbg_picture.py FILE.svg`."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path

from graphdbg.cli.dbg.interpreter import Interpreter
from graphdbg.cli.dbg.opened import launched
from graphdbg.cli.dbg.output import ColourOutput
from graphdbg.cli.dbg.reading import PROMPT
from rich.console import Console
from rich.text import Text

JOB = Path(__file__).resolve().parents[2] / "tests" / "hosts" / "digits_cnn.py"
LINES = (
    "break digits_cnn.py:31 if zero_count > 0",
    "continue",
    "backtrace",
    "print $.zero_count",
    "print max(abs(in0))",
    "stepi",
    "print $.min",
    "list",
)


def main() -> None:
    (target,) = sys.argv[1:]
    # The job's own output is not in the picture.
    with contextlib.redirect_stdout(io.StringIO()):
        console = Console(record=True, width=118, file=io.StringIO(), force_terminal=True, highlight=False)
        with contextlib.chdir(JOB.parent), launched([sys.executable, JOB.name, "--steps=100"], {}) as session:
            debugger = Interpreter(session, ColourOutput(console), owns_job=True)
            for line in LINES:
                console.print(Text(PROMPT, style="bold") + Text(line))
                debugger.execute(line)
    picture = console.export_svg(title="graphdbg dbg -- python train.py")
    # The fonts that rich names are on the web.
    Path(target).write_text(re.sub(r"@font-face\s*\{[^}]*\}\s*", "", picture))


if __name__ == "__main__":
    main()
