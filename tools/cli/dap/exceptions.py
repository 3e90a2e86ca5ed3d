"""Exception filters, which are conditions on tensors, and `exceptionInfo`: what a stop has found."""

from __future__ import annotations

from collections.abc import Sequence

from graphdbg.client.errors import GraphdbgError
from graphdbg.client.models import Diagnosis, ExceptionInfo, Hit

from ..client import Json
from ..debugger import Stop
from ..terminal import visible
from .context import Context
from .dispatch import Handler
from .errors import RequestError
from .tensor_rows import summary

# Switched on until the user changes it.
_DEFAULT = {"nan", "inf"}
# Watching every op for its execution stops everywhere.
_NO_FILTER = {"executed"}


def filters_of(conditions: Sequence[Json]) -> list[Json]:
    """A filter for each condition that needs no parameters.

    Args:
        conditions: As the HTTP interface describes them.
    """
    usable = (each for each in conditions if each["id"] not in _NO_FILTER)
    without_parameters = [each for each in usable if not any(param["required"] for param in each["params"])]
    # A condition with two names is one filter, that of the first.
    by_title = {each["title"]: each for each in reversed(without_parameters)}
    return [_filter(each) for each in without_parameters if by_title[each["title"]] is each]


def _filter(condition: Json) -> Json:
    return {
        "filter": condition["id"],
        "label": condition["title"],
        "description": condition["help"],
        "default": condition["id"] in _DEFAULT,
        "supportsCondition": True,
        "conditionDescription": "Nodes to watch, such as forward/encoder/*",
    }


class Exceptions:
    """Answers `exceptionInfo`."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def handlers(self) -> dict[str, Handler]:
        return {"exceptionInfo": self._exception_info}

    def _exception_info(self, request: Json) -> Json:
        rank = self._context.rank(request.get("arguments", {}))
        stop = self._context.need_stop(rank)
        if stop.exception is not None:
            return _python_exception(stop.exception)
        if not stop.hits:
            raise RequestError(f"rank {rank} did not stop at a condition")
        return self._hit(stop, stop.hits[0])

    def _hit(self, stop: Stop, hit: Hit) -> Json:
        session = self._context.need_session()
        try:
            diagnosis = session.job.diagnosis(hit)
        except GraphdbgError:
            # The sentence of the stop remains.
            diagnosis = None
        stack = "\n".join(f"{each.file}:{each.line} {each.name}" for each in session.frames(hit.rank) if each.file)
        return {
            "exceptionId": hit.condition,
            "description": _description(stop, diagnosis),
            "breakMode": "always",
            "details": {
                "message": _details(hit, diagnosis),
                "typeName": hit.condition,
                "evaluateName": f"`{hit.name}`",
                **({"stackTrace": visible_lines(stack)} if stack else {}),
            },
        }


def visible_lines(text: str) -> str:
    """Several lines, each of them made safe."""
    return "\n".join(map(visible, text.splitlines()))


def _python_exception(exception: ExceptionInfo) -> Json:
    return {
        "exceptionId": visible(exception.type),
        "description": visible(exception.message),
        "breakMode": "unhandled",
        "details": {
            "message": visible(exception.message),
            "typeName": visible(exception.type),
            "stackTrace": visible_lines(exception.traceback),
        },
    }


def _description(stop: Stop, diagnosis: Diagnosis | None) -> str:
    if diagnosis is None or not diagnosis.title:
        return visible(stop.description)
    return visible(f"{diagnosis.title}. {diagnosis.text or ''}".strip())


def _details(hit: Hit, diagnosis: Diagnosis | None) -> str:
    """The hit: node, origin or propagated, counts, and what to try."""
    lines = [f"{hit.name}, step {hit.step}, rank {hit.rank} ({hit.origin})"]
    lines += [f"{name} = {value:g}" for name, value in hit.actual.items()]
    lines += [summary(hit.statistics)] if hit.statistics else []
    lines += list(diagnosis.next) if diagnosis else []
    return visible_lines("\n".join(lines))
