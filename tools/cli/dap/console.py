"""The verbs of `graphdbg dbg` in the console of an editor."""

from __future__ import annotations

import io

from ..dbg.all_verbs import VERBS
from ..dbg.interpreter import Interpreter, split_verb
from ..dbg.output import Output
from ..dbg.verb import Verb
from ..debugger import DebuggerError, Session

# Editors have their own ways to move a job and to set breakpoints, which they would not learn of here.
_GROUPS = frozenset({"Looking", "Values", "Stack and source", "Help"})


def verb_of(line: str) -> Verb | None:
    """The verb that a line begins with, if any."""
    word, _ = split_verb(line.strip())
    try:
        return VERBS.find(word) if word else None
    except DebuggerError:
        return None


class Console:
    """Executes verbs that look, and returns what they print. One command at a time."""

    def __init__(self, session: Session) -> None:
        self._text = io.StringIO()
        self.session = session
        self._interpreter = Interpreter(session, Output(self._text))

    def execute(self, line: str, frame: int) -> str:
        """What a verb prints at a frame.

        Raises:
            DebuggerError: It cannot be executed, or is none that looks.
        """
        verb = verb_of(line)
        if verb is not None and verb.group not in _GROUPS:
            raise DebuggerError(f"{verb.name} is not available here; use the editor's own commands, or `graphdbg dbg`")
        # What events have printed meanwhile is not an answer.
        self._text.seek(0)
        self._text.truncate()
        self._interpreter.frame = frame
        self._interpreter.execute(line)
        return self._text.getvalue().rstrip("\n")
