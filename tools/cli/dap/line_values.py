"""`graphdbg/lineValues`, a request of our own: what each line of a file has computed in this step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields

from graphdbg.client.http import quote
from graphdbg.client.models import Statistics

from ..debugger import Stop
from ..debugger.graph_index import GraphIndex
from ..debugger.packed_columns import PackedColumns
from ..terminal import visible
from .context import Context
from .dispatch import Handler
from .page import Page
from .scopes import frame_of
from .sources import Sources
from .stack import FrameReference
from .tensor_rows import summary
from .wire import Json

# By the number of a node in the graph index: the statistics of its first output.
Known = Mapping[int, Statistics]

_FIELDS = [each.name for each in fields(Statistics) if each.name != "quantiles"]


class LineValues:
    """Answers for editors, which show the texts at the ends of the lines."""

    def __init__(self, context: Context, sources: Sources, page: Page) -> None:
        """
        Args:
            page: Knows the server that has the statistics.
        """
        self._context = context
        self._sources = sources
        self._page = page

    def handlers(self) -> dict[str, Handler]:
        return {"graphdbg/lineValues": self._line_values}

    def _line_values(self, request: Json) -> Json:
        arguments = request.get("arguments", {})
        client = self._context.client
        first, last = client.line_from(arguments.get("startLine")), client.line_from(arguments.get("endLine"))
        file = self._sources.file_of(arguments.get("source"))
        number = arguments.get("frameId")
        frame = frame_of(self._context, number)
        with self._context.within_stop(number):
            index = self._context.need_session().graph_index()
            lines = {line: nodes for line, nodes in index.lines_of(file).items() if first <= line <= last}
            done = {line: executed(index, nodes, frame.stop) for line, nodes in lines.items()}
            known = self._statistics(frame) if any(done.values()) else {}
        texts = {line: _text(index, done[line], known) for line in sorted(done)}
        return {"lines": [{"line": client.line_to(line), "text": text} for line, text in texts.items() if text]}

    def _statistics(self, frame: FrameReference) -> Known:
        session = self._context.need_session()
        # The ops of a bundle are repeated in this process, so that no server has their statistics.
        if self._page.http is None or session.kind == "bundle":
            return {}
        if session.kind == "recorded":
            path, query = f"/runs/{quote(session.name)}/statistics", {"step": frame.stop.step}
        else:
            # These are always those of the current step.
            path, query = f"/jobs/{quote(session.name)}/statistics", {}
        return _first_outputs(self._page.http.download(path, rank=frame.rank, **query))


def _first_outputs(data: bytes) -> Known:
    columns = PackedColumns(data)
    rows = zip(*(columns.column(name) for name in ("node", "slot", *_FIELDS)), strict=True)
    return {node: Statistics(*values) for node, slot, *values in rows if slot == 0}


def executed(index: GraphIndex, nodes: Sequence[int], stop: Stop) -> list[int]:
    """Those of the nodes that have executed in this step: a stop is after a node."""
    current = index.node_of(stop.node) if stop.node else None
    last = index.place.get(current) if current is not None else None
    return [node for node in nodes if last is None or index.place[node] <= last]


def result_of(index: GraphIndex, nodes: Sequence[int]) -> int | None:
    """The last of the nodes; None if there are none.

    The ops of the backward pass have the lines of their forward ops, whose results the user expects there.
    """
    forward = (node for node in reversed(nodes) if not index.name(node).startswith("backward/"))
    return next(forward, nodes[-1] if nodes else None)


def _text(index: GraphIndex, nodes: Sequence[int], known: Known) -> str:
    """The result of a line; and its first op with values that are not finite, if that is another one."""
    measured = [node for node in nodes if node in known]
    last = result_of(index, measured)
    if last is None:
        return ""
    bad = next((node for node in measured if not _is_finite(known[node])), last)
    texts = [f"{index.label(node)}: {summary(known[node])}" for node in dict.fromkeys((last, bad))]
    return visible("; ".join(texts))


def _is_finite(statistics: Statistics) -> bool:
    return statistics.nan_count + statistics.pos_inf_count + statistics.neg_inf_count == 0
