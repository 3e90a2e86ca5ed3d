"""Tools that list hits and name their causes."""

from __future__ import annotations

from typing import Annotated

from graphdbg.client import GraphdbgError
from pydantic import Field

from ..client import Json
from .answers import Answer
from .arguments import Cursor, JobName, Limit
from .described import add_source, add_stack, describe_hit, describe_incidents, statistics_line
from .subjects import Subject
from .workspace import Workspace


class HitTools:
    """Each method is a tool."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def hits(
        self,
        job: JobName = None,
        incident: Annotated[int | None, Field(description="Only the hits of the cause with this number.")] = None,
        node: Annotated[str | None, Field(description="Only the hits of this node.")] = None,
        step: Annotated[int | None, Field(description="Only the hits of this training step.")] = None,
        rank: Annotated[int | None, Field(description="Only the hits of this rank.")] = None,
        watchpoint: Annotated[int | None, Field(description="Only the hits of this watchpoint.")] = None,
        limit: Limit = 10,
        cursor: Cursor = None,
    ) -> Answer:
        """Lists what watchpoints have found: without arguments by cause, each with its origin, source line and
        diagnosis; with any of them the single hits, in execution order."""
        subject = self._workspace.subject(job)
        answer = Answer()
        filters = {"incident": incident, "node": node, "step": step, "rank": rank, "watchpoint": watchpoint}
        if all(each is None for each in filters.values()) and cursor is None:
            page = subject.get("/incidents", limit=1000)
            answer.add(f"{page['total']} causes of hits in {subject.id}, in the order of their first hits")
            describe_incidents(answer, page["incidents"][:limit], subject.info().world_size, details=3)
            if page["total"] > limit:
                answer.more(f"more: hits(limit={min(100, 2 * limit)}); the hits of a cause: hits(incident=NUMBER)")
            if page["total"]:
                answer.next("diagnosis(hit=NUMBER) has the evidence, the stack and all advice")
            return answer
        page = subject.get("/hits", limit=limit, cursor=cursor, **filters)
        for hit in page["hits"]:
            values = statistics_line(hit["statistics"]) if hit["statistics"] else ""
            answer.add(
                f"hit {hit['id']}: {hit['condition']} at {hit['node']}:{hit['slot']}, step {hit['step']}, "
                f"rank {hit['rank']}, {hit['origin']}. {values}"
            )
            add_source(answer, hit["source"])
        if not page["hits"]:
            answer.add("no such hits")
        if page["next_cursor"]:
            answer.more(f'more: the same call with cursor="{page["next_cursor"]}"')
        return answer

    def diagnosis(
        self,
        hit: Annotated[
            int | None, Field(description="The number of the hit, as hits() shows it. Default: the first.")
        ] = None,
        job: JobName = None,
    ) -> Answer:
        """The likely cause of a hit with its evidence, the source line with its stack, and what to try."""
        subject = self._workspace.subject(job)
        number = _first_hit(subject) if hit is None else hit
        found = subject.get(f"/hits/{number}/diagnosis")
        entry = _hit(subject, number)
        answer = Answer()
        describe_hit(answer, entry, found, subject.info().world_size)
        for title, sentences in (("often caused by", found["causes"]), ("try", found["next"])):
            answer.add_all(f"  {title}: {sentence}" for sentence in sentences)
        detail = subject.get("/graph/node", name=entry["node"]) if entry["op_type"] else None
        if detail and len(detail["stack"]) > 1:
            answer.add("stack, innermost first:")
            add_stack(answer, detail["stack"])
        for link in found["evidence"]:
            answer.add(f"  evidence: {link['label']}: {link['node']}:{link['slot']}, step {link['step']}")
        answer.next(f"statistics, tensor and history of {entry['node']}:{entry['slot']}; node(name=…) has its inputs")
        return answer


def _first_hit(subject: Subject) -> int:
    found = subject.get("/hits", limit=1)["hits"]
    if not found:
        raise GraphdbgError(f"{subject.id} has no hits: conditions() has what watch() can look for")
    return int(found[0]["id"])


def _hit(subject: Subject, number: int) -> Json:
    cursor: str | None = None
    while True:
        page = subject.get("/hits", limit=1000, cursor=cursor)
        for hit in page["hits"]:
            if hit["id"] == number:
                return dict(hit)
        cursor = page["next_cursor"]
        if not cursor:
            raise GraphdbgError(f"hit {number} is not among the stored ones")
