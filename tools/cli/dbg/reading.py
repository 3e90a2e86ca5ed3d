"""Where lines come from: a terminal with completion and history, or plain lines."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..terminal import visible

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.document import Document

    from ..debugger import Completion

PROMPT = "(graphdbg) "
_HINT = "graphdbg: for completion and history: pip install 'graphdbg[debugger]'"

Complete = Callable[[str], "list[Completion]"]


class Lines(Protocol):
    """A source of lines."""

    def read(self, prompt: str = PROMPT) -> str | None:
        """The next line; None at the end. KeyboardInterrupt at Ctrl-C."""


class PlainLines:
    """Lines of standard input. Unless it is a terminal they are echoed behind the prompt, as in a transcript."""

    def __init__(self) -> None:
        self._is_terminal = sys.stdin.isatty()

    def read(self, prompt: str = PROMPT) -> str | None:
        print(prompt, end="", flush=True)
        line = sys.stdin.readline()
        if not line:
            print(flush=True)
            return None
        line = line.rstrip("\n")
        if not self._is_terminal:
            print(visible(line), flush=True)
        return line


class TerminalLines:
    """Lines that are edited with prompt_toolkit."""

    def __init__(self, complete: Complete) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import FileHistory, History, InMemoryHistory

        file = _history_file()
        history: History = InMemoryHistory() if file is None else FileHistory(str(file))
        self._session: PromptSession[str] = PromptSession(
            history=history,
            completer=_completer(complete),
            complete_while_typing=False,
            enable_history_search=True,
        )
        # Answers are no commands to be repeated.
        self._question: PromptSession[str] = PromptSession()

    def read(self, prompt: str = PROMPT) -> str | None:
        from prompt_toolkit.patch_stdout import patch_stdout

        try:
            # The job's output appears above the line that is being typed; raw keeps the colours of our own.
            with patch_stdout(raw=True):
                session = self._session if prompt == PROMPT else self._question
                return session.prompt(prompt)
        except EOFError:
            return None


def make_lines(complete: Complete) -> Lines:
    """Those of the terminal, or of standard input if it is none or prompt_toolkit is missing."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM") == "dumb":
        return PlainLines()
    try:
        return TerminalLines(complete)
    except ImportError:
        print(_HINT, file=sys.stderr)
        return PlainLines()


def _history_file() -> Path | None:
    """In the user's directory of states; None if that cannot be written."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    directory = Path(base) / "graphdbg"
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = directory / "history"
        # Lines may name what is private.
        os.close(os.open(file, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
    except OSError:
        return None
    return file


def _completer(complete: Complete) -> Completer:
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.completion import Completion as Offer

    class _Offers(Completer):
        def get_completions(self, document: Document, complete_event: object) -> Iterator[Offer]:
            text = document.text_before_cursor
            for each in complete(text):
                yield Offer(
                    each.text,
                    start_position=each.start - len(text),
                    display=visible(each.label),
                    display_meta=visible(each.detail),
                )

    return _Offers()
