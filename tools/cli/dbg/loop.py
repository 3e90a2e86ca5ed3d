"""Reads lines and executes them, until the user leaves."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from graphdbg.client.errors import GraphdbgError

from ..debugger import Session
from ..terminal import visible
from .completer import complete
from .interpreter import Interpreter
from .output import Output, make_output
from .quit import Quit
from .reading import PROMPT, Lines, PlainLines, make_lines

_INIT_FILE = ".graphdbgrc"
FAILED = 1


@dataclass(frozen=True)
class Options:
    """How a session goes.

    Attributes:
        files: Files with commands, which are executed first.
        lines: Commands that follow.
        batch: Ends after them, or at the first error.
        init: Executes the file .graphdbgrc of the home directory before. One of another directory may be anybody's.
        owns_job: The job was started for this session.
        script: Its program's file; "" if it is unknown, or the job was not started for this session.
    """

    files: Sequence[Path]
    lines: Sequence[str]
    batch: bool
    init: bool
    owns_job: bool
    script: str = ""


def debug(session: Session, options: Options) -> int:
    """Executes commands until the user leaves; returns the exit code."""
    debugger = Interpreter(session, make_output(), owns_job=options.owns_job, script=options.script)
    lines: Lines = PlainLines() if options.batch else make_lines(lambda text: complete(debugger, text))
    debugger.read_more = lines.read
    debugger.ask = lambda question: _ask(lines, question, options.batch)
    try:
        code = _Loop(debugger, lines, options).run()
    except Quit as leave:
        code = leave.code
    if not options.owns_job:
        _leave(debugger)
    return code


class _Loop:
    def __init__(self, debugger: Interpreter, lines: Lines, options: Options) -> None:
        self._debugger = debugger
        self._lines = lines
        self._options = options

    def run(self) -> int:
        failed = self._begin()
        if failed and self._options.batch:
            return FAILED
        if self._options.batch and (self._options.files or self._options.lines):
            return 0
        return self._read()

    def _begin(self) -> bool:
        """Where the job stands, then what the options name. Whether a command failed."""
        stop = self._debugger.session.stop
        if stop is not None:
            self._debugger.out.line(f"{self._debugger.session.name}: {stop.description}")
            if stop.node:
                self._debugger.show_frame()
        else:
            self._debugger.out.line(f"{self._debugger.session.name}: running; pause stops it")
        init = Path.home() / _INIT_FILE
        files = [init] if self._options.init and init.is_file() else []
        for file in [*files, *self._options.files]:
            if not self._try(lambda file=file: self._debugger.source_file(file)) and self._options.batch:
                return True
        for line in self._options.lines:
            self._debugger.out.line(f"{PROMPT}{line}")
            if not self._try(lambda line=line: self._debugger.execute(line)) and self._options.batch:
                return True
        return False

    def _read(self) -> int:
        while True:
            try:
                line = self._lines.read()
            except KeyboardInterrupt:
                continue
            if line is None:
                return 0
            if not self._try(lambda line=line: self._debugger.execute(line)) and self._options.batch:
                return FAILED

    def _try(self, action: object) -> bool:
        """Does something, and prints its error. Whether it succeeded."""
        try:
            action()  # type: ignore[operator]
        except GraphdbgError as error:
            _print_error(self._debugger.out, error, self._options.batch)
            return False
        except KeyboardInterrupt:
            self._debugger.out.line("interrupted")
        return True


def _print_error(out: Output, error: GraphdbgError, batch: bool) -> None:
    if batch:
        print(f"graphdbg: {visible(error)}", file=sys.stderr, flush=True)
    else:
        out.line(str(error), "error")


def _ask(lines: Lines, question: str, batch: bool) -> bool:
    """Nobody is asked in a batch or through a pipe, as in gdb."""
    if batch or not sys.stdin.isatty():
        return True
    answer = lines.read(f"{question} (y or n) ")
    return answer is not None and answer.strip().lower() in ("y", "yes")


def _leave(debugger: Interpreter) -> None:
    """A job that was moved from here goes on; one that was only looked at stays as it is."""
    try:
        if debugger.has_moved and debugger.session.kind == "live":
            debugger.session.detach(resume=True)
    except GraphdbgError as error:
        debugger.out.line(str(error), "error")
