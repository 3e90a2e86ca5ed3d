"""`evaluate` and `completions`: expressions in watches, hovers and the console."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from graphdbg.client.errors import GraphdbgError

from ..debugger import Session
from . import arguments as read
from .context import Context
from .dispatch import Handler
from .scopes import frame_of, wants_hex
from .tensor_rows import Rows
from .wire import Json

if TYPE_CHECKING:
    from .console import Console

# Python code that names a module's tensor, as in `self.conv1.weight`.
_ATTRIBUTE = re.compile(r"self(?:\.\w+|\[\d+\])+")
_KINDS = {"scope": "module", "node": "variable", "statistic": "property", "file": "file"}


class Evaluation:
    """Evaluates expressions and completes them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._console: Console | None = None

    def handlers(self) -> dict[str, Handler]:
        return {"evaluate": self._evaluate, "completions": self._completions}

    def _evaluate(self, request: Json) -> Json:
        arguments = request.get("arguments", {})
        expression = read.text(arguments, "expression")
        if arguments.get("context") == "hover":
            expression = _name_of(expression)
        number = arguments.get("frameId")
        if number is None:
            return self._value(expression, self._context.need_session().rank, 0, arguments)
        frame = frame_of(self._context, number)
        with self._context.within_stop(number):
            return self._value(expression, frame.rank, frame.frame.number, arguments)

    def _value(self, expression: str, rank: int, frame: int, arguments: Json) -> Json:
        with self._context.on_rank(rank) as session:
            try:
                value = session.evaluate(expression, frame)
            except GraphdbgError:
                # In the console, what is no expression may be a command. Its verbs are not needed before.
                from .console import verb_of

                if arguments.get("context") != "repl" or verb_of(expression) is None:
                    raise
                return {"result": self._console_of(session).execute(expression, frame), "variablesReference": 0}
        rows = Rows(self._context.references, session.job, wants_hex(arguments))
        row = rows.value("", value)
        kept = ("type", "variablesReference", "namedVariables", "indexedVariables", "memoryReference")
        return {"result": row["value"], **{key: row[key] for key in kept if key in row}}

    def _console_of(self, session: Session) -> Console:
        from .console import Console

        if self._console is None or self._console.session is not session:
            self._console = Console(session)
        return self._console

    def _completions(self, request: Json) -> Json:
        arguments = request.get("arguments", {})
        text, column = read.text(arguments, "text"), self._context.client.column_from(arguments.get("column"))
        lines = text.splitlines() or [""]
        line = lines[min(read.number(arguments, "line", 1) - self._context.client.first_line, len(lines) - 1)]
        before = _cut(line, column - 1)
        number = arguments.get("frameId")
        frame = frame_of(self._context, number) if number is not None else None
        with self._context.on_rank(frame.rank if frame else self._context.need_session().rank) as session:
            found = session.complete(before, frame.frame.number if frame else 0)
        first = self._context.client.first_column
        targets = []
        for each in found:
            target = {"label": each.label, "text": each.text, "start": _units(before[: each.start]) + first}
            target |= {"length": _units(before[each.start :]), "type": _KINDS.get(each.kind, "text")}
            targets.append(target | ({"detail": each.detail} if each.detail else {}))
        return {"targets": targets}


def _name_of(expression: str) -> str:
    """An attribute of a module as a name of the graph: self.blocks[0].weight is blocks/0/weight."""
    if not _ATTRIBUTE.fullmatch(expression):
        return expression
    return re.sub(r"\.|\[", "/", expression.removeprefix("self").replace("]", "")).removeprefix("/")


def _units(text: str) -> int:
    """The length in UTF-16 units, in which the protocol counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _cut(text: str, units: int) -> str:
    return text.encode("utf-16-le", "surrogatepass")[: max(units, 0) * 2].decode("utf-16-le", "ignore")
