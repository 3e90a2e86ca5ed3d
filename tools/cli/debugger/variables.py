"""Which tensor a variable of the program is, found in the source: the result of the ops that its assignment has run.

A variable whose assignment cannot be followed is not found, rather than guessed.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .assignments import (
    Assignment,
    Function,
    Part,
    argument,
    arguments,
    assignments,
    called_name,
    class_around,
    function_of,
    instances,
    loops,
    method_of,
    own_path,
    returned,
)
from .errors import DebuggerError
from .frames import Frame, frames_of, module_scope
from .source_lines import function_at, local_text, parsed

if TYPE_CHECKING:
    from .session import Session

_MODEL = "forward"
_MOST_CALLS = 8
_COMPUTED = (ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.Attribute)


def variables_of(session: Session, number: int) -> dict[str, str]:
    """The tensors of the variables that have a value in a frame, NODE:SLOT by name, in the order of the source."""
    frames = _frames(session)
    finder = _finder(session, frames, number, _here(session))
    names = [] if finder is None else finder.names()
    return {name: found for name in names if finder is not None and (found := finder.tensor_of(name)) is not None}


def names_of(session: Session, number: int) -> list[str]:
    """The names of a frame's variables, also of those that are no tensors: fast also in a large graph."""
    finder = _finder(session, _frames(session), number, _here(session))
    return [] if finder is None else finder.names()


def variable(session: Session, number: int, name: str, executed: bool = True, outwards: bool = False) -> str | None:
    """The tensor of a variable of a frame, NODE:SLOT; None if its function has no such variable.

    Args:
        executed: Only what this step has made so far counts.
        outwards: The frames around it count as well.

    Raises:
        DebuggerError: It is one, and which tensor it is cannot be told.
    """
    frames = _frames(session)
    for each in range(number, len(frames) if outwards else number + 1):
        finder = _finder(session, frames, each, _here(session) if executed else math.inf)
        if finder is not None and name in finder.names():
            found = finder.tensor_of(name)
            if found is None:
                raise DebuggerError(f"{name}: no op is known to have made its value in this step")
            return found
    return None


def _frames(session: Session) -> Sequence[Frame]:
    """The frames; at the end of a step those of the function that computes the loss, or else calls the model."""
    frames, index = session.frames(), session.graph_index()
    if frames[0].file or not index.has_executed:
        return frames
    forward = (node for node in reversed(index.execution) if index.name(node).startswith(f"{_MODEL}/"))
    last = next(forward, None)
    frames = [] if last is None else frames_of(session.node(index.name(last)))
    return [each for each in frames if each.file and each.function.rpartition(".")[2] != _MODEL]


def _here(session: Session) -> float:
    """The place in the order of execution up to which this step has come. A stop is after a node."""
    index, stop = session.graph_index(), session.stop
    node = index.node_of(stop.node) if stop is not None and stop.node else None
    return math.inf if node is None else index.place.get(node, -1)


def _finder(session: Session, frames: Sequence[Frame], number: int, here: float) -> _Finder | None:
    if number >= len(frames) or not frames[number].file:
        return None
    frame = frames[number]
    text = session.source_text(frame.file) or local_text(frame.file)
    if text is None:
        return None
    own = _own(frames, number)
    later = [
        each for each in range(frames.index(own) + 1, len(frames)) if frames[each].file and not frames[each].subtle
    ]
    outer = next((each for each in later if frames[each].scope != own.scope), None)
    caller = None if outer is None else _finder(session, frames, outer, here)
    # What a call is about to return is no value of its caller yet.
    done = here if own is _own(frames, 0) else here - 0.5
    code = _Code(frame.file, text, function_at(text, frame.line), module_scope(own.scope))
    found = _Finder(session, code, frame.line, done)
    call = None if caller is None or found.function is None else caller.call_of(found.code)
    found.caller = None if caller is None or call is None else (caller, call)
    return found


def _own(frames: Sequence[Frame], number: int) -> Frame:
    """The frame of the function: an op of a library's module has the line of the user's function around it."""
    frame = frames[number]
    same = (each for each in frames[number:] if each.kind == "scope" and not each.subtle)
    return next((each for each in same if (each.file, each.line) == (frame.file, frame.line)), frame)


@dataclass(frozen=True)
class _Code:
    """A function that was executed in a scope; None: a file."""

    file: str
    text: str
    function: Function | None
    scope: str

    @property
    def body(self) -> Sequence[ast.stmt]:
        return parsed(self.text) if self.function is None else self.function.body


@dataclass(frozen=True)
class _Made:
    """Ops in the order of execution, of which the last one has made a value; and which of its outputs it is."""

    nodes: Sequence[int]
    slot: int = 0


class _Finder:
    """Looks for the variables of one call of a function.

    Attributes:
        caller: Where it was called, if that is known.
    """

    def __init__(self, session: Session, code: _Code, line: float, here: float, depth: int = 0) -> None:
        """
        Args:
            line: The line at which it stands; infinite if it has returned.
            here: The place in the order of execution up to which values exist.
        """
        self.code = code
        self.caller: tuple[_Finder, ast.Call] | None = None
        self._session = session
        self._line = line
        self._here = here
        self._depth = depth
        self._index = session.graph_index()
        self._assignments = list(assignments(code.body))

    @property
    def function(self) -> Function | None:
        return self.code.function

    def names(self) -> list[str]:
        """The arguments of the function, and the names that it assigns."""
        return list(dict.fromkeys([*arguments(self.function), *(each.name for each in self._assignments)]))

    def tensor_of(self, name: str) -> str | None:
        """The tensor of a variable, NODE:SLOT."""
        made = self._made(name, frozenset())
        return None if made is None else f"{self._index.name(made.nodes[-1])}:{made.slot}"

    def call_of(self, callee: _Code) -> ast.Call | None:
        """The call, in the line at which this one stands, that has entered a function; None if several may have."""
        name = callee.function.name if callee.function is not None else ""
        label = callee.scope.removeprefix(f"{self.code.scope}/") if self.code.scope else ""
        nodes = (node for statement in self.code.body for node in ast.walk(statement))
        calls = [each for each in nodes if isinstance(each, ast.Call) and self._is_here(each)]
        if name == _MODEL:
            modules = {*loops(self.code.body), *instances(self.code.text)}
            found = [each for each in calls if label and own_path(each.func) == label]
            found = found or [each for each in calls if called_name(each) in modules]
        else:
            found = [each for each in calls if name in (called_name(each), own_path(each.func))]
        return found[0] if len(found) == 1 else None

    def _is_here(self, value: ast.expr) -> bool:
        return value.lineno <= self._line <= (value.end_lineno or value.lineno)

    # ---- names

    def _made(self, name: str, seen: frozenset[str]) -> _Made | None:
        """What has made the value of a variable: its newest assignment, or the caller's argument."""
        if name in seen:
            return None
        found = []
        for each in self._assignments:
            if each.name != name or self._is_begun(each):
                continue
            made = self._value(each.value, each.part, seen | {name})
            if made is None and (each.is_repeated or each.value.lineno <= self._line):
                # It may be newer than the others.
                return None
            if made is not None:
                found.append(made)
        done = max(filter(self._exists, found), key=self._place, default=None)
        # Ops that a later step has added come last in the order, so that the job knows better than it.
        return done or self._argument(name, seen) or (found[-1] if found else None)

    def _argument(self, name: str, seen: frozenset[str]) -> _Made | None:
        function = self.function
        if self.caller is None or function is None or name not in arguments(function):
            return None
        caller, call = self.caller
        given = argument(call, function, name)
        made = None if given is None else caller._value(given, None, frozenset())
        if made is None and isinstance(given, ast.Name):
            # What is no result of an op, as the batch of a loader, is an input of the model.
            node = self._index.node_of(f"{_MODEL}/{given.id}")
            made = None if node is None else _Made([node])
        return made

    def _is_begun(self, assignment: Assignment) -> bool:
        """Whether the job stands within an expression whose later ops are not known yet."""
        return self._is_here(assignment.value) and not self._session.knows_all and math.isfinite(self._here)

    def _place(self, made: _Made) -> int:
        return self._index.place.get(made.nodes[-1], -1)

    def _exists(self, made: _Made) -> bool:
        """Whether it was executed in this step, by the order of execution."""
        return self._place(made) <= self._here

    # ---- expressions

    def _value(self, value: ast.expr, part: Part | None, seen: frozenset[str]) -> _Made | None:
        """What makes the value of an expression; None if that cannot be told."""
        if part is not None and isinstance(value, ast.Tuple) and len(value.elts) == part.count:
            return self._value(value.elts[part.position], None, seen)
        if isinstance(value, ast.Name):
            return self._made(value.id, seen) if part is None else None
        if isinstance(value, ast.Call):
            called = self._call(value, part)
            if called is not None:
                return called
        if not isinstance(value, _COMPUTED):
            return None
        lines = range(value.lineno, (value.end_lineno or value.lineno) + 1)
        known = self._index.lines_of(self.code.file)
        return self._last([node for line in lines for node in known.get(line, ())], self.code.scope, part)

    def _call(self, call: ast.Call, part: Part | None) -> _Made | None:
        """What a call of a module, of a method or of a function of the same file returns."""
        code, path, name = self.code, own_path(call.func), called_name(call)
        if path and self._index.scope_of(f"{code.scope}/{path}") is not None:
            return self._module(f"{code.scope}/{path}", call, part)
        if path and self.function is not None:
            return self._returned(method_of(code.text, class_around(code.text, self.function.lineno), path), call, part)
        modules = loops(code.body).get(name)
        if modules:
            return self._module_of_list(f"{code.scope}/{modules}", call, part)
        model = instances(code.text).get(name)
        if model:
            # Of several models, each has the name of its variable.
            scope = f"{_MODEL}/{name}" if self._index.scope_of(f"{_MODEL}/{name}") is not None else _MODEL
            return self._returned(method_of(code.text, model, _MODEL), call, part, scope)
        return self._returned(function_of(code.text, name), call, part)

    def _module(self, scope: str, call: ast.Call, part: Part | None) -> _Made | None:
        number = self._index.scope_of(scope)
        type_name = self._index.scope_type(number) if number is not None else ""
        forward = method_of(self.code.text, type_name, _MODEL)
        if forward is not None:
            return self._returned(forward, call, part, scope)
        return self._last(self._index.execution, scope, part)

    def _module_of_list(self, modules: str, call: ast.Call, part: Part | None) -> _Made | None:
        """Of the last module of a list that has been executed."""
        scope = self._index.scope_of(modules)
        children = [] if scope is None else [self._index.scope_name(each) for each in self._index.scopes_in(scope)]
        made = [found for each in children if (found := self._module(each, call, part)) is not None]
        return max(filter(self._exists, made), key=self._place, default=made[0] if made else None)

    def _returned(
        self, function: Function | None, call: ast.Call, part: Part | None, scope: str | None = None
    ) -> _Made | None:
        if function is None or self._depth >= _MOST_CALLS:
            return None
        code = _Code(self.code.file, self.code.text, function, self.code.scope if scope is None else scope)
        inside = _Finder(self._session, code, math.inf, self._here, self._depth + 1)
        inside.caller = (self, call)
        made = [found for each in returned(function) if (found := inside._value(each, part, frozenset())) is not None]
        return max(filter(self._exists, made), key=self._place, default=made[0] if made else None)

    def _last(self, nodes: Iterable[int], scope_name: str, part: Part | None) -> _Made | None:
        """The forward ops among nodes, in a scope."""
        index = self._index
        scope = index.scope_of(scope_name) or 0
        own = [
            node
            for node in nodes
            if index.is_inside(node, scope)
            and index.kind(node) == "op"
            and not index.name(node).startswith("backward/")
        ]
        if not own:
            return None
        own.sort(key=index.place.__getitem__)
        if part is None:
            return _Made(own)
        count = len(self._session.node(index.name(own[-1])).outputs)
        return _Made(own, part.position) if count == part.count else None
