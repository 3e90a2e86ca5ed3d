"""`graphdbg/expressionAt`, a request of our own: what the name under the mouse is, as an expression."""

from __future__ import annotations

from . import arguments as read
from .context import Context
from .dispatch import Handler
from .line_values import executed, result_of
from .scopes import frame_of
from .sources import Sources
from .stack import FrameReference
from .wire import Json

_FORWARD = "forward"


class Hovered:
    """Answers for editors, which then evaluate the expression."""

    def __init__(self, context: Context, sources: Sources) -> None:
        self._context = context
        self._sources = sources

    def handlers(self) -> dict[str, Handler]:
        return {"graphdbg/expressionAt": self._expression_at}

    def _expression_at(self, request: Json) -> Json:
        arguments = request.get("arguments", {})
        number = arguments.get("frameId")
        frame = frame_of(self._context, number)
        with self._context.within_stop(number):
            # A variable is what the line that assigns it has computed; an attribute is a module or parameter.
            found = self._of_line(arguments, frame) if "line" in arguments else self._of_path(arguments, frame)
        return {"expression": f"`{found}:0`"} if found else {}

    def _of_line(self, arguments: Json, frame: FrameReference) -> str | None:
        file = self._sources.file_of(arguments.get("source"))
        line = self._context.client.line_from(arguments.get("line"))
        index = self._context.need_session().graph_index()
        node = result_of(index, executed(index, index.lines_of(file).get(line, ()), frame.stop))
        return None if node is None else index.name(node)

    def _of_path(self, arguments: Json, frame: FrameReference) -> str | None:
        """A parameter, or what a module has returned; in the frame's scope or one around it."""
        path = read.text(arguments, "path")
        index = self._context.need_session().graph_index()
        for scope in _outwards(frame.frame.scope):
            name = f"{scope}/{path}"
            if index.node_of(name) is not None:
                return name
            module = index.scope_of(name)
            if module is not None:
                inside = [node for node in index.execution if index.is_inside(node, module)]
                node = result_of(index, executed(index, inside, frame.stop))
                return None if node is None else index.name(node)
        return None


def _outwards(scope: str) -> list[str]:
    """A scope and those around it. The backward pass has the modules of the forward pass."""
    parts = scope.split("/")
    scopes = ["/".join([_FORWARD, *parts[1:end]]) for end in range(len(parts), 0, -1)]
    return scopes or [_FORWARD]
