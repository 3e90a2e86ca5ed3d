"""`scopes` and `variables`: what there is to see at a frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from graphdbg.client.errors import GraphdbgError
from graphdbg.client.models import Hit

from ..debugger import Session
from ..debugger.frames import module_scope
from ..debugger.variables import variables_of
from . import arguments as read
from .context import Context
from .dispatch import Handler
from .errors import RequestError
from .stack import FrameReference
from .tensor_rows import PAGE, Container, Rows, summary
from .wire import Json

_HINTS = {
    "Outputs": "returnValue",
    "Inputs": "arguments",
    "Locals": "locals",
    "Parameters": "locals",
    "Gradients": "locals",
}
# Statistics of many tensors take time, so that these are closed at first.
_EXPENSIVE = ("Locals", "Gradients")
# Between the name of an input and that of the tensor that it is.
_ORIGIN = " = "
_MOST_NODES = 200
_MOST_PAGE = 10_000


@dataclass(frozen=True)
class ScopeContainer:
    """One scope of a frame."""

    context: Context
    name: str
    frame: FrameReference
    indexed_count: int = 0

    @property
    def rank(self) -> int:
        return self.frame.rank

    def named(self, rows: Rows) -> list[Json]:
        return _SCOPES[self.name](self.context, rows, self.frame)

    def indexed(self, rows: Rows, start: int, count: int) -> list[Json]:
        return []

    def expression(self, row: str) -> str:
        """The expression that a row is the value of."""
        if self.name == "Gradients":
            return f"`{_gradient_prefix(self.frame)}{row}:0`"
        return row.partition(_ORIGIN)[0]


class Scopes:
    """Answers `scopes` and `variables`."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def handlers(self) -> dict[str, Handler]:
        return {"scopes": self._scopes, "variables": self._variables}

    def _scopes(self, request: Json) -> Json:
        frame = frame_of(self._context, request.get("arguments", {}).get("frameId"))
        names = [name for name in _SCOPES if _has(self._context.need_session(), frame, name)]
        return {"scopes": [self._scope(name, frame) for name in names]}

    def _scope(self, name: str, frame: FrameReference) -> Json:
        reference = self._context.references.add(frame.rank, ScopeContainer(self._context, name, frame))
        hint = {"presentationHint": _HINTS[name]} if name in _HINTS else {}
        return {"name": name, "variablesReference": reference, "expensive": name in _EXPENSIVE, **hint}

    def _variables(self, request: Json) -> Json:
        arguments = request.get("arguments", {})
        number = arguments.get("variablesReference")
        container: Container = self._context.references.get(number)
        if not hasattr(container, "named"):
            raise RequestError(f"{number} is not the number of a value that can be opened")
        with self._context.within_stop(number):
            return {"variables": self._rows_of(container, arguments)}

    def _rows_of(self, container: Container, arguments: Json) -> list[Json]:
        rows = Rows(self._context.references, self._context.need_session().job, wants_hex(arguments))
        kind = read.optional_text(arguments, "filter")
        start, count = read.number(arguments, "start", 0), read.number(arguments, "count", 0)
        if count > _MOST_PAGE:
            raise RequestError(f"count must be at most {_MOST_PAGE}; ask for the next page with start")
        if kind == "indexed":
            return container.indexed(rows, start, count or PAGE)
        named = container.named(rows)
        if kind == "named":
            return named[start : start + count] if count else named
        # Clients that do not page get the first elements.
        return named + container.indexed(rows, start, count or PAGE)


def frame_of(context: Context, number: object) -> FrameReference:
    """The frame of a number."""
    frame = context.references.get(number)
    if not isinstance(frame, FrameReference):
        raise RequestError(f"{number} is not the number of a frame")
    return frame


def wants_hex(arguments: Json) -> bool:
    form = arguments.get("format")
    return isinstance(form, dict) and form.get("hex") is True


def _has(session: Session, frame: FrameReference, name: str) -> bool:
    """Whether a frame has a scope."""
    if name in ("Outputs", "Inputs", "Attributes"):
        return frame.frame.kind == "node"
    if name == "Hit":
        return frame.frame.kind == "node" and bool(_found(frame))
    if name in ("Parameters", "Gradients"):
        return frame.frame.kind in ("node", "scope")
    return name != "Locals" or bool(frame.frame.file and not frame.frame.subtle)


# ---- the rows of each scope


def _outputs(context: Context, rows: Rows, frame: FrameReference) -> list[Json]:
    count = len(context.need_session().node(frame.frame.name).outputs)
    return _evaluated(context, rows, frame, {f"out{slot}": f"out{slot}" for slot in range(count)})


def _inputs(context: Context, rows: Rows, frame: FrameReference) -> list[Json]:
    inputs = context.need_session().node(frame.frame.name).inputs
    found = _evaluated(context, rows, frame, {f"in{slot}": f"in{slot}" for slot in range(len(inputs))})
    # The user wants to know which tensor it is.
    return [row | {"name": f"{row['name']}{_ORIGIN}{each.name}"} for row, each in zip(found, inputs, strict=True)]


def _locals(context: Context, rows: Rows, frame: FrameReference) -> list[Json]:
    with context.on_rank(frame.rank) as session:
        names = variables_of(session, frame.frame.number)
    found = _evaluated(context, rows, frame, {name: f"`{tensor}`" for name, tensor in names.items()})
    return found or [rows.text("none", "no tensor of a variable of this function is known")]


def _parameters(context: Context, rows: Rows, frame: FrameReference) -> list[Json]:
    session = context.need_session()
    names = _nodes(session, module_scope(frame.frame.scope), {"parameter", "buffer"})
    return _evaluated(context, rows, frame, {name.rpartition("/")[2]: f"`{name}:0`" for name in names})


def _gradients(context: Context, rows: Rows, frame: FrameReference) -> list[Json]:
    prefix = _gradient_prefix(frame)
    names = _nodes(context.need_session(), prefix.removesuffix("/"), {"op"})
    found = _evaluated(context, rows, frame, {name[len(prefix) :]: f"`{name}:0`" for name in names})
    # Where the backward pass has not been, there is nothing to see.
    known = [row for row in found if row["variablesReference"]]
    return known or [rows.text("none", "the backward pass of this scope has not run since the step began")]


def _gradient_prefix(frame: FrameReference) -> str:
    """Where the gradients of the ops and parameters of a frame's scope are."""
    scope = frame.frame.scope.partition("/")[2]
    return f"backward/{scope}/" if scope else "backward/"


def _hit(context: Context, rows: Rows, frame: FrameReference) -> list[Json]:
    found: list[Json] = []
    for hit in _found(frame):
        measured = ", ".join(f"{name} = {value:g}" for name, value in hit.actual.items())
        found.append(rows.text(f"{hit.condition} at {hit.name}", f"{measured} ({hit.origin})"))
        if hit.statistics:
            found.append(rows.text("statistics", summary(hit.statistics)))
    return found + _diagnosis(context, rows, _found(frame)[0])


def _found(frame: FrameReference) -> list[Hit]:
    """The hits with a value; the execution of an op has none."""
    return [hit for hit in frame.stop.hits if hit.condition != "executed"]


def _diagnosis(context: Context, rows: Rows, hit: Hit) -> list[Json]:
    found = context.need_session().job.diagnosis(hit)
    named = [rows.text("cause", found.title), rows.text("because", found.text)] if found.title else []
    return named + [rows.text(f"try {number}", each) for number, each in enumerate(found.next, 1)]


def _attributes(context: Context, rows: Rows, frame: FrameReference) -> list[Json]:
    node = context.need_session().node(frame.frame.name)
    described = [rows.text("op_type", node.op_type), rows.text("category", node.category)]
    return described + [rows.text(name, value) for name, value in node.attributes.items()]


def _job(context: Context, rows: Rows, frame: FrameReference) -> list[Json]:
    session = context.need_session()
    where = next((each for each in session.ranks() if each.rank == frame.rank), None)
    named = {"name": session.name, "state": session.state, "rank": frame.rank, "step": frame.stop.step}
    if where is not None:
        named |= {"host": where.host, "pid": where.pid, "device": where.device}
    return [rows.text(name, value) for name, value in named.items() if value != ""]


_SCOPES: dict[str, Callable[[Context, Rows, FrameReference], list[Json]]] = {
    "Outputs": _outputs,
    "Inputs": _inputs,
    "Locals": _locals,
    "Parameters": _parameters,
    "Gradients": _gradients,
    "Hit": _hit,
    "Attributes": _attributes,
    "Job": _job,
}


def _evaluated(context: Context, rows: Rows, frame: FrameReference, expressions: dict[str, str]) -> list[Json]:
    """A row for each expression, by the names of the rows."""
    found = []
    for name, expression in expressions.items():
        try:
            with context.on_rank(frame.rank) as session:
                value = session.evaluate(expression, frame.frame.number)
            found.append(rows.value(name, value))
        except GraphdbgError as error:
            found.append(rows.error(name, error))
    return found


def _nodes(session: Session, scope: str, kinds: set[str]) -> list[str]:
    """The nodes of some kinds directly in a scope."""
    index = session.graph_index()
    number = index.scope_of(scope)
    nodes = [] if number is None else [each for each in index.nodes_in(number) if index.kind(each) in kinds]
    return [index.name(each) for each in nodes[:_MOST_NODES]]
