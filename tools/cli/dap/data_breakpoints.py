"""`dataBreakpointInfo`: which tensor a row or an expression is."""

from __future__ import annotations

from graphdbg.client.errors import GraphdbgError

from . import arguments as read
from .context import Context
from .dispatch import Handler
from .errors import sentence
from .scopes import ScopeContainer, frame_of
from .tensor_rows import TensorContainer
from .wire import Json


class DataBreakpoints:
    """Finds tensors to watch."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def handlers(self) -> dict[str, Handler]:
        return {"dataBreakpointInfo": self._info}

    def _info(self, request: Json) -> Json:
        arguments = request.get("arguments", {})
        try:
            name = self._tensor(arguments)
        except GraphdbgError as error:
            return {"dataId": None, "description": sentence(error)}
        if name is None:
            return {"dataId": None, "description": "only tensors can be watched"}
        return {"dataId": name, "description": name, "accessTypes": ["write"], "canPersist": True}

    def _tensor(self, arguments: Json) -> str | None:
        name, number = read.text(arguments, "name"), arguments.get("variablesReference")
        if number:
            container = self._context.references.get(number)
            if isinstance(container, TensorContainer):
                # A part of a tensor is watched as the tensor.
                return container.tensor.name
            if not isinstance(container, ScopeContainer):
                return None
            return self._evaluated(container.expression(name), container.frame.rank, container.frame.frame.number)
        if arguments.get("frameId") is None:
            return self._evaluated(name, self._context.need_session().rank, 0)
        frame = frame_of(self._context, arguments["frameId"])
        return self._evaluated(name, frame.rank, frame.frame.number)

    def _evaluated(self, expression: str, rank: int, frame: int) -> str | None:
        with self._context.on_rank(rank) as session:
            value = session.evaluate(expression, frame)
        return None if value.tensor is None else value.tensor.name
