"""Tools that read a job's graph."""

from __future__ import annotations

from typing import Annotated, Literal

from graphdbg.client import NotFoundError
from pydantic import Field

from ..client import Json
from .answers import Answer
from .arguments import Cursor, JobName, Limit, RankNumber
from .described import add_stack, statistics_line
from .subjects import Subject
from .workspace import Workspace

# Children of a scope whose names differ only in a number are one entry beyond this.
_AGGREGATE = 12
_EDGES = 20
_ATTRIBUTES = 15
_CONSUMERS = 10


class GraphTools:
    """Each method is a tool."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def graph_scope(
        self,
        name: Annotated[
            str, Field(description='Full name of a scope, such as "forward/layer1". Default: the top.')
        ] = "",
        job: JobName = None,
        offset: Annotated[int, Field(description="Leave out this many children.", ge=0)] = 0,
        limit: Limit = 30,
        edges: Annotated[bool, Field(description="Also the edges between the children.")] = False,
    ) -> Answer:
        """Lists the modules and ops in a scope of the graph, with their source lines and hits."""
        return self.scope(self._workspace.subject(job), name, offset, limit, edges)

    def scope(self, subject: Subject, name: str, offset: int = 0, limit: int = 30, edges: bool = False) -> Answer:
        """What `graph_scope` answers. Not a tool."""
        found = subject.get("/graph/scope", name=name, aggregate=_AGGREGATE)
        answer = Answer()
        nodes = found["nodes"]
        answer.add(f"{name or 'the top'} of {subject.id} contains {len(nodes)} nodes")
        if not nodes and not name:
            answer.next("the graph is known after the first step: step, or continue")
        for node in nodes[offset : offset + limit]:
            answer.add(_line(node))
        if offset + limit < len(nodes):
            answer.more(f'more: graph_scope(name="{name}", offset={offset + limit})')
        if edges:
            answer.add("edges, by the number of tensors:")
            for edge in found["edges"][:_EDGES]:
                answer.add(f"  {edge['from']} -> {edge['to']}: {edge['tensors']}")
            if len(found["edges"]) > _EDGES:
                answer.more(f"{len(found['edges']) - _EDGES} more edges: node(name=…) has those of one node")
        return answer

    def search_nodes(
        self,
        query: Annotated[
            str, Field(description="Part of a full name, of a line of code or of a function's name.")
        ] = "",
        source: Annotated[
            str | None, Field(description="FILE or FILE:LINE of the program; FILE may be the end.")
        ] = None,
        op_type: Annotated[str | None, Field(description="Such as aten::relu.")] = None,
        category: Literal["weight", "gradient", "activation", "optimizer", "other"] | None = None,
        kind: Literal["op", "parameter", "buffer", "constant", "input", "scope"] | None = None,
        watchpoint: Annotated[int | None, Field(description="Only nodes that this watchpoint covers.")] = None,
        job: JobName = None,
        limit: Limit = 20,
        cursor: Cursor = None,
    ) -> Answer:
        """Finds nodes of the graph, for example the ops of a source line."""
        subject = self._workspace.subject(job)
        filters = {"source": source, "op_type": op_type, "category": category, "kind": kind, "watchpoint": watchpoint}
        page = subject.get("/graph/search", q=query or None, limit=limit, cursor=cursor, **filters)
        answer = Answer()
        for node in page["nodes"]:
            answer.add(_line(node, whole=True))
        if not page["nodes"]:
            answer.add("nothing found; nodes are known from the first step on")
            answer.next("a shorter query, or graph_scope()")
        if page["next_cursor"]:
            answer.more(f'more: the same call with cursor="{page["next_cursor"]}"')
        return answer

    def node(
        self,
        name: Annotated[str, Field(description="Full name of a node, such as forward/layer1/relu.")],
        job: JobName = None,
        rank: RankNumber = None,
    ) -> Answer:
        """One node: its type, inputs and outputs with their statistics, who reads them, its attributes, and the source
        lines that called it."""
        subject = self._workspace.subject(job)
        name = name.rpartition(":")[0] if name.rpartition(":")[2].isdigit() else name
        detail = self._node(subject, name)
        answer = Answer()
        answer.add(_line(detail, whole=True))
        answer.add("called at, innermost first:" if detail["stack"] else "where it is called is not known")
        add_stack(answer, detail["stack"])
        known = {} if detail["kind"] == "scope" else subject.get("/tensors", node=name, rank=rank)
        for tensor in known.get("tensors", []):
            statistics = tensor["statistics"]
            step = f" in step {tensor['statistics_step']}" if statistics else ""
            values = statistics_line(statistics) if statistics else "statistics unknown"
            name_of = f"{tensor['node']}:{tensor['slot']}"
            answer.add(f"{tensor['role']} {name_of} {tensor['dtype']} {tensor['shape']}{step}: {values}")
        readers = list(dict.fromkeys(each["node"] for each in detail["consumers"]))
        if readers:
            more = f" and {len(readers) - _CONSUMERS} more" if len(readers) > _CONSUMERS else ""
            answer.add(f"read by {', '.join(readers[:_CONSUMERS])}{more}")
        for key, value in list(detail["attributes"].items())[:_ATTRIBUTES]:
            answer.add(f"attribute {key} = {value}")
        if detail["kind"] == "scope":
            answer.next(f'graph_scope(name="{name}") lists its children')
        else:
            answer.next(f'statistics, tensor and history of "{name}:0"; the inputs above lead back to the cause')
        return answer

    def _node(self, subject: Subject, name: str) -> Json:
        try:
            return subject.get("/graph/node", name=name)
        except NotFoundError as error:
            raise with_similar(error, subject, name) from None


def with_similar(error: NotFoundError, subject: Subject, name: str) -> NotFoundError:
    """The error about an unknown node, with names that are similar."""
    label = name.rpartition("/")[2].rpartition(":")[0] or name.rpartition("/")[2]
    found = subject.get("/graph/search", q=label, limit=3, **{"in": "names"})["nodes"] if label else []
    if not found:
        return error
    names = ", ".join(node["name"] for node in found)
    return NotFoundError(error.status, {"detail": f"{error}; similar: {names}", "code": error.code})


def _line(node: Json, whole: bool = False) -> str:
    name = node["name"] if whole or node["kind"] == "aggregate" else node["label"]
    inside = f", {node['descendant_count']} nodes" if node["descendant_count"] else ""
    outputs = " ".join(f"{each['dtype']}{each['shape']}" for each in node["outputs"][:3])
    hits = f", {node['hit_count']} hits" if node["hit_count"] else ""
    source = node["source"]
    place = f", {source['file']}:{source['line']}" if source else ""
    kind = node["kind"] if node["kind"] not in node["op_type"] else ""
    return f"{name}  {' '.join(filter(None, (kind, node['op_type'], outputs)))}{inside}{hits}{place}"
