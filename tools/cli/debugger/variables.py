"""Which tensor a variable of the program is, found in the source: the result of the ops that its assignment has run.

Nothing of the program is executed. A variable whose assignment cannot be followed is not found, rather than guessed.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .errors import DebuggerError
from .frames import Frame, frames_of
from .source_lines import function_at, local_text, parsed

if TYPE_CHECKING:
    from .session import Session

_MOST_CALLS = 8
_OWN = "self"


@dataclass(frozen=True)
class _Assignment:
    """`name = value`, or one of several targets that a value is unpacked to.

    Attributes:
        position, count: Of an unpacked value: which target this is, and the number of them.
        is_repeated: Whether it is in a loop.
    """

    name: str
    value: ast.expr
    position: int | None = None
    count: int = 0
    is_repeated: bool = False


def variables_of(session: Session, number: int) -> dict[str, str]:
    """The tensors of the variables that have a value in a frame, NODE:SLOT by name, in the order of the source."""
    finder = _finder(session, _frames(session), number)
    if finder is None:
        return {}
    return {name: found for name in finder.names() if (found := finder.tensor_of(name)) is not None}


def variable(session: Session, number: int, name: str) -> str | None:
    """The tensor of one variable, NODE:SLOT: of a frame or one around it; None if no frame has such a variable.

    Raises:
        DebuggerError: It is one, and which tensor it is cannot be told.
    """
    frames = _frames(session)
    for each in range(number, len(frames)):
        finder = _finder(session, frames, each)
        if finder is None or name not in finder.names():
            continue
        found = finder.tensor_of(name)
        if found is None:
            raise DebuggerError(f"{name}: no op is known to have made its value in this step")
        return found
    return None


def _frames(session: Session) -> list[Frame]:
    """The frames; at the end of a step those of the functions that call the model."""
    frames, index = session.frames(), session.graph_index()
    if frames[0].file or not index.has_executed:
        return frames
    forward = (node for node in reversed(index.execution) if index.name(node).startswith("forward/"))
    last = next(forward, None)
    frames = [] if last is None else frames_of(session.node(index.name(last)))
    return [each for each in frames if each.kind == "python"] or frames[:1]


def _finder(session: Session, frames: Sequence[Frame], number: int) -> _Finder | None:
    if number >= len(frames) or not frames[number].file:
        return None
    file = frames[number].file
    text = session.source_text(file) or local_text(file)
    return None if text is None else _Finder(session, frames, number, text)


class _Finder:
    """Looks for variables of one frame."""

    def __init__(self, session: Session, frames: Sequence[Frame], number: int, text: str) -> None:
        self._frames = frames
        self._number = number
        self._frame = frame = frames[number]
        self._text = text
        self._made = list(_assignments(_body(text, frame.line)))
        self._index = session.graph_index()
        self._lines = self._index.lines_of(frame.file)
        stop = session.stop
        node = self._index.node_of(stop.node) if stop is not None and stop.node else None
        # A stop is after a node.
        self._here = self._index.place.get(node, -1) if node is not None else len(self._index.execution)
        self._session = session

    def names(self) -> list[str]:
        """The arguments of the function, and the names that it assigns."""
        return list(dict.fromkeys([*_arguments(self._text, self._frame.line), *(each.name for each in self._made)]))

    def tensor_of(self, name: str, seen: frozenset[str] = frozenset()) -> str | None:
        """The tensor of the assignment of a name that was executed last, or of the argument."""
        found: list[tuple[int, _Assignment]] = []
        for each in self._made:
            if each.name != name or self._is_begun(each.value):
                continue
            nodes = self._nodes(each.value, seen | {name})
            if nodes is None and (each.is_repeated or each.value.lineno <= self._frame.line):
                # It may be newer than the others.
                return None
            node = self._last(nodes or ())
            if node is not None:
                found.append((node, each))
        if not found:
            return self._argument(name)
        node, assignment = max(found, key=lambda each: self._index.place[each[0]])
        slot = self._slot(node, assignment)
        return None if slot is None else f"{self._index.name(node)}:{slot}"

    def _argument(self, name: str) -> str | None:
        """What the caller has passed for an argument of the function."""
        arguments = _arguments(self._text, self._frame.line)
        caller = _finder(self._session, self._frames, self._outer())
        if name not in arguments or caller is None:
            return None
        call = caller.call_of(self._frame.scope)
        if call is None:
            return None
        named = {each.arg: each.value for each in call.keywords}
        place = arguments.index(name) - (arguments[0] == _OWN)
        given = named.get(name, call.args[place] if 0 <= place < len(call.args) else None)
        if isinstance(given, ast.Name):
            return caller.tensor_of(given.id) or caller.input_of(given.id)
        node = None if given is None else caller._last(caller._nodes(given, frozenset()) or ())
        return None if node is None else f"{self._index.name(node)}:0"

    def _outer(self) -> int:
        """The frame that has called the function of this one. The node's frame is that of its scope."""
        here = self._frame
        later = range(self._number + 1, len(self._frames))
        return next(
            (each for each in later if self._frames[each].file and self._frames[each].scope != here.scope),
            next((each for each in later if self._frames[each].kind == "python"), len(self._frames)),
        )

    def call_of(self, scope: str) -> ast.Call | None:
        """The call in the line of this frame that has entered a scope; None if there are several that may be it."""
        body = _body(self._text, self._frame.line)
        statements = (each for each in body if each.lineno <= self._frame.line <= (each.end_lineno or each.lineno))
        calls = [node for each in statements for node in ast.walk(each) if isinstance(node, ast.Call)]
        here = [each for each in calls if each.lineno <= self._frame.line <= (each.end_lineno or each.lineno)]
        label = scope.removeprefix(f"{self._frame.scope}/") if self._frame.scope else ""
        own = [each for each in here if _own_path(each.func) == label] if label else []
        plain = [
            each
            for each in here
            if isinstance(each.func, ast.Name)
            and each.func.id not in vars(builtins)
            and _function_called(self._text, each.func.id) is None
        ]
        found = own or plain
        return found[0] if len(found) == 1 else None

    def input_of(self, name: str) -> str | None:
        """The input of the model that has a name."""
        node = self._index.node_of(f"forward/{name}")
        return None if node is None else f"forward/{name}:0"

    def _is_begun(self, value: ast.expr) -> bool:
        """Whether the job stands within an expression whose later ops are not known yet."""
        is_here = value.lineno <= self._frame.line <= (value.end_lineno or value.lineno)
        return is_here and not self._session.knows_all and self._here < len(self._index.execution)

    def _slot(self, node: int, assignment: _Assignment) -> int | None:
        """Which output an assignment takes; None if the op has another number of them than there are targets."""
        if assignment.position is None:
            return 0
        count = len(self._session.node(self._index.name(node)).outputs)
        return assignment.position if count == assignment.count else None

    def _nodes(self, value: ast.expr, seen: frozenset[str], calls: int = 0) -> Sequence[int] | None:
        """The nodes of which the last one has made the value of an expression; None if they are not known."""
        if isinstance(value, ast.Name):
            tensor = None if value.id in seen or calls else self.tensor_of(value.id, seen)
            node = None if tensor is None else self._index.node_of(tensor.rpartition(":")[0])
            return None if node is None else [node]
        if isinstance(value, ast.Call):
            found = self._of_call(value, seen, calls)
            if found is not None:
                return found
        if not isinstance(value, (ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.Attribute)):
            return None
        lines = range(value.lineno, (value.end_lineno or value.lineno) + 1)
        return self._forward([node for line in lines for node in self._lines.get(line, ())], self._frame.scope) or None

    def _of_call(self, call: ast.Call, seen: frozenset[str], calls: int) -> Sequence[int] | None:
        """The nodes of a call of a module, or of a function of the same file."""
        path = _own_path(call.func)
        if path:
            return self._of_module(f"{self._frame.scope}/{path}")
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        modules = _loops(_body(self._text, self._frame.line)).get(name)
        if modules:
            return self._of_last(f"{self._frame.scope}/{modules}")
        function = _function_called(self._text, name)
        if function is None or calls >= _MOST_CALLS:
            return None
        returned = [each.value for each in ast.walk(function) if isinstance(each, ast.Return) and each.value]
        found = [nodes for each in returned if (nodes := self._nodes(each, seen, calls + 1))]
        return max(found, key=lambda nodes: self._index.place[nodes[-1]], default=None)

    def _of_module(self, name: str) -> Sequence[int] | None:
        scope = self._index.scope_of(name) if self._frame.scope else None
        return None if scope is None else self._forward(self._index.execution, name) or None

    def _of_last(self, modules: str) -> Sequence[int] | None:
        """The nodes of the last module of a list that has been executed."""
        scope = self._index.scope_of(modules)
        children = [] if scope is None else [self._index.scope_name(each) for each in self._index.scopes_in(scope)]
        found = [nodes for each in children if (nodes := self._forward(self._index.execution, each))]
        done = [nodes for nodes in found if self._last(nodes) is not None]
        return max(done, key=lambda nodes: self._index.place[nodes[-1]], default=found[0] if found else None)

    def _forward(self, nodes: Iterable[int], scope_name: str) -> list[int]:
        """The forward ops among nodes, in a scope, in execution order."""
        index = self._index
        scope = index.scope_of(scope_name) or 0
        own = [node for node in nodes if not index.name(node).startswith("backward/") and index.is_inside(node, scope)]
        return sorted(own, key=index.place.__getitem__)

    def _last(self, nodes: Sequence[int]) -> int | None:
        """The last of nodes, if it has been executed in this step."""
        return nodes[-1] if nodes and self._index.place.get(nodes[-1], -1) <= self._here else None


def _body(text: str, line: int) -> Sequence[ast.stmt]:
    """The statements of the function around a line, or of the file."""
    function = function_at(text, line)
    return parsed(text) if function is None else function.body


def _arguments(text: str, line: int) -> list[str]:
    """The names of the arguments of the function around a line."""
    function = function_at(text, line)
    if function is None:
        return []
    given = function.args
    return [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def _assignments(body: Sequence[ast.stmt], is_repeated: bool = False) -> Iterator[_Assignment]:
    """The assignments to names, without those of functions and classes inside."""
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        for each in _assigned(statement):
            yield dataclasses.replace(each, is_repeated=is_repeated)
        inner = is_repeated or isinstance(statement, (ast.For, ast.While))
        for block in ("body", "orelse", "finalbody"):
            yield from _assignments(getattr(statement, block, []), inner)
        for handler in getattr(statement, "handlers", []):
            yield from _assignments(handler.body, inner)


def _assigned(statement: ast.stmt) -> Iterator[_Assignment]:
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from _targets(target, statement.value)
    elif isinstance(statement, ast.AugAssign):
        # The op has the line of the whole statement.
        yield from _targets(statement.target, ast.copy_location(_in_place(statement), statement))
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        yield from _targets(statement.target, statement.value)


def _loops(body: Sequence[ast.stmt]) -> dict[str, str]:
    """By the variable of a loop over a module's list, `for block in self.blocks`: the path of the list."""
    loops = [each for statement in body for each in ast.walk(statement) if isinstance(each, ast.For)]
    found = {}
    for each in loops:
        target, values = each.target, each.iter
        if isinstance(values, ast.Call) and isinstance(values.func, ast.Name) and values.func.id == "enumerate":
            values = values.args[0] if values.args else values
            target = target.elts[-1] if isinstance(target, ast.Tuple) else target
        path = _own_path(values)
        if isinstance(target, ast.Name) and path:
            found[target.id] = path
    return found


def _targets(target: ast.expr, value: ast.expr) -> Iterator[_Assignment]:
    if isinstance(target, ast.Name):
        yield _Assignment(target.id, value)
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for each, part in zip(target.elts, value.elts, strict=True):
            yield from _targets(each, part)
    elif isinstance(target, ast.Tuple):
        for position, each in enumerate(target.elts):
            if isinstance(each, ast.Name):
                yield _Assignment(each.id, value, position, len(target.elts))


def _in_place(statement: ast.AugAssign) -> ast.BinOp:
    return ast.BinOp(left=statement.value, op=statement.op, right=statement.value)


def _own_path(function: ast.expr) -> str:
    """Of `self.blocks[0].fc` blocks/0/fc; "" for other functions."""
    if isinstance(function, ast.Attribute):
        if isinstance(function.value, ast.Name):
            return function.attr if function.value.id == _OWN else ""
        outer = _own_path(function.value)
        return f"{outer}/{function.attr}" if outer else ""
    if isinstance(function, ast.Subscript) and isinstance(function.slice, ast.Constant):
        outer = _own_path(function.value)
        return f"{outer}/{function.slice.value!s}" if outer else ""
    return ""


def _function_called(text: str, name: str) -> ast.FunctionDef | None:
    """The function of a file that is called by a plain name."""
    return next((each for each in parsed(text) if isinstance(each, ast.FunctionDef) and each.name == name), None)
