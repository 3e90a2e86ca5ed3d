"""Tools that read tensors, never more than some hundred numbers at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from graphdbg.client import NotFoundError
from graphdbg.client.jobs import full_name
from pydantic import Field

from ..client import Json
from .answers import Answer
from .arguments import JobName, RankNumber, Slice, Step, TensorName
from .described import number, statistics_lines
from .graph_tools import with_similar
from .subjects import Subject
from .workspace import Workspace

MAX_NUMBERS = 200
_HISTORY_LINES = 30
# Of the tensors in a collection.
_EXAMPLES = 4
_PER_LINE = 10


class TensorTools:
    """Each method is a tool."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def tensor(
        self,
        tensor: TensorName,
        slice: Slice = "",
        step: Step = None,
        rank: RankNumber = None,
        job: JobName = None,
    ) -> Answer:
        """Values of a tensor or of a slice of it, at most 200 numbers. Of a live job: while it is paused."""
        subject, name = self._workspace.subject(job), full_name(tensor)
        chosen = slice
        if not chosen:
            head = _get(subject, "/tensor/statistics", name, rank=rank, step=step)
            chosen = first_elements(head["shape"])
        found = _get(subject, "/tensor", name, rank=rank, step=step, slice=chosen)
        answer = Answer()
        _add_head(answer, found)
        answer.add(f"slice {chosen or '[...]'} of shape {found['slice_shape']}:")
        shown = add_elements(answer, found["data"])
        total = math.prod(found["shape"])
        if shown < total:
            answer.more(
                f"{shown} of {total:,} elements; others: slice=[…] with at most {MAX_NUMBERS} elements; "
                "statistics(…) has all"
            )
        return answer

    def statistics(self, tensor: TensorName, step: Step = None, rank: RankNumber = None, job: JobName = None) -> Answer:
        """Counts of NaN and infinities, range, mean, variance and norms of a whole tensor."""
        subject = self._workspace.subject(job)
        found = _get(subject, "/tensor/statistics", full_name(tensor), rank=rank, step=step)
        answer = Answer()
        _add_head(answer, found)
        answer.add_all(statistics_lines(found["statistics"]))
        answer.next("tensor(…) reads values, history(…) the steps before, compare(…) another step, rank or tensor")
        return answer

    def history(
        self,
        tensor: TensorName,
        first_step: Annotated[int | None, Field(description="Only from this step on.", ge=0)] = None,
        last_step: Annotated[int | None, Field(description="Only up to this step.", ge=0)] = None,
        rank: RankNumber = None,
        job: JobName = None,
    ) -> Answer:
        """The known statistics of a tensor over the training steps, at most 30 of them. A live job knows those of hits
        and of steps in which they were asked for; a recorded run knows all that it recorded."""
        subject, name = self._workspace.subject(job), full_name(tensor)
        limits = {"from": first_step, "to": last_step} if subject.is_run else {}
        found = _get(subject, "/tensor/history", name, rank=rank, **limits)
        points = [(each["step"], each["statistics"]) for each in found["points"]]
        # Of very many steps there are groups, of which the first is shown.
        points = points or [(each["first"]["step"], each["first"]["statistics"]) for each in found.get("buckets", [])]
        points = [
            each for each in points if (first_step or 0) <= each[0] and (last_step is None or each[0] <= last_step)
        ]
        answer = Answer()
        answer.add(f"{name} in {subject.id}, {len(points)} steps are known")
        chosen = evenly(len(points), _HISTORY_LINES)
        for step, each in (points[index] for index in chosen):
            bad = each["nan_count"] + each["pos_inf_count"] + each["neg_inf_count"]
            measures = ", ".join(f"{key} {number(each[key])}" for key in ("min", "max", "mean", "l2"))
            answer.add(f"step {step}: {f'{bad:,} not finite, ' if bad else ''}{measures}")
        if len(chosen) < len(points):
            answer.more(f"{len(points) - len(chosen)} steps between are left out: history(first_step=…, last_step=…)")
        if not points and subject.is_run:
            for each in subject.get("/collections")["collections"]:
                names = ", ".join(each["tensors"][:_EXAMPLES])
                answer.add(f"{subject.id} has recorded {len(each['tensors'])} tensors of {each['name']}: {names}")
        elif not points:
            answer.next("statistics(tensor=…) at a stop asks for them; run(…, record=DIR) keeps those of all steps")
        return answer

    def compare(
        self,
        tensor: TensorName,
        to: Annotated[
            str,
            Field(
                description="previous, step:N, rank:R, tensor:NODE:SLOT, or run:RUN of the same server; an appended "
                "@STEP names the step, such as rank:1@20."
            ),
        ] = "previous",
        slice: Slice = "",
        step: Step = None,
        rank: RankNumber = None,
        rtol: Annotated[float | None, Field(description="As in numpy.allclose. Default: 1e-5.", ge=0)] = None,
        atol: Annotated[float | None, Field(description="As in numpy.allclose. Default: 1e-8.", ge=0)] = None,
        job: JobName = None,
    ) -> Answer:
        """Compares a tensor element by element with itself at another step or on another rank, or with another one."""
        subject, name = self._workspace.subject(job), full_name(tensor)
        query: Json = {
            "with": to,
            "slice": slice or None,
            "step": step,
            "rank": rank,
            "rtol": rtol,
            "atol": atol,
            "list": 8,
        }
        found = _get(subject, "/tensor/compare", name, **query)
        answer = Answer()
        for side in ("left", "right"):
            each = found[side]
            answer.add(
                f"{side}: {each['name']}, step {each['step']}, rank {each['rank']}, {each['dtype']} {each['shape']}"
            )
        close = "all are close" if found["all_close"] else f"{found['not_close_count']:,} are not close"
        tolerances = f"rtol {found['rtol']:g}, atol {found['atol']:g}"
        answer.add(f"{found['count']:,} pairs, {found['equal_count']:,} are equal, {close} ({tolerances})")
        if found["non_finite_count"]:
            answer.add(
                f"{found['non_finite_count']:,} pairs have a NaN or an infinity, which the differences leave out"
            )
        measures = (
            *("max_abs_difference", "mean_abs_difference", "mean_difference", "rms_difference"),
            *("max_relative_difference", "cosine", "max_ulps"),
        )
        answer.add(", ".join(f"{key} {number(found[key])}" for key in measures))
        for pair in found["not_close"]:
            answer.add(f"  {pair['index']}: {number(pair['left'])} and {number(pair['right'])}")
        if found["not_close_count"] > len(found["not_close"]):
            answer.more("more: compare(…, slice=…) looks at a part")
        return answer


def _get(subject: Subject, route: str, name: str, **query: object) -> Json:
    try:
        return subject.get(route, name=name, **query)
    except NotFoundError as error:
        raise with_similar(error, subject, name) if error.code == "unknown_node" else error from None


def _add_head(answer: Answer, found: Json) -> None:
    answer.add(f"{found['name']} {found['dtype']} {found['shape']}, step {found['step']}, rank {found['rank']}")
    if found["overwritten"]:
        answer.add("it was overwritten in place since then; these are the new values")
    if found["grad_scale"]:
        answer.add(f"the loss was multiplied by {number(found['grad_scale'])}; values are scaled, statistics are not")


def first_elements(shape: Sequence[int]) -> str:
    """The slice with the first elements of a tensor, which are at most MAX_NUMBERS."""
    parts: list[str] = []
    room = MAX_NUMBERS
    for size in reversed(shape):
        shown = min(size, room)
        parts.append(":" if shown == size else f":{shown}")
        room //= max(shown, 1)
    return f"[{','.join(reversed(parts))}]" if parts else "[...]"


def add_elements(answer: Answer, data: Any) -> int:
    """Adds nested lists of elements, or a single one, and returns how many it has added: MAX_NUMBERS at most."""
    shown = 0
    for index, row in _rows(data):
        part = row[: MAX_NUMBERS - shown]
        shown += len(part)
        for first in range(0, len(part), _PER_LINE):
            place = ",".join(map(str, [*index, first])) if isinstance(data, list) else ""
            answer.add(f"[{place}] {' '.join(number(each) for each in part[first : first + _PER_LINE])}")
        if shown >= MAX_NUMBERS:
            break
    return shown


def _rows(data: Any, index: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Sequence[Any]]]:
    """The innermost lists of nested ones, each with its index."""
    if not isinstance(data, list):
        yield (), [data]
    elif not data or not isinstance(data[0], list):
        yield index, data
    else:
        for position, each in enumerate(data):
            yield from _rows(each, (*index, position))


def evenly(count: int, most: int) -> list[int]:
    """At most so many indexes of a list, evenly over it, with its first and last one."""
    if count <= most:
        return list(range(count))
    return [round(each * (count - 1) / (most - 1)) for each in range(most)]
