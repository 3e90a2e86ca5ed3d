"""Jobs, stops and hits in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from graphdbg.client import ExceptionInfo, JobInfo

from ..client import Json
from ..report import describe_incident
from .answers import Answer

_RANKS = 8
_FRAMES = 12
_TRACEBACK_LINES = 12


def describe_job(answer: Answer, info: JobInfo, is_run: bool = False) -> None:
    """Adds where a job stands, or how it has ended."""
    where = "recorded run" if is_run else "job"
    ranks = f", {info.world_size} ranks" if info.world_size > 1 else ""
    answer.add(f"{where} {info.id} ({info.framework} {info.framework_version}{ranks}) {_state(info)}")
    if info.world_size > 1 and not is_run:
        for rank in info.ranks[:_RANKS]:
            node = f" at {rank.node}" if rank.node else ""
            answer.add(f"  rank {rank.rank}: {rank.state}, step {rank.step}{node}")
        if len(info.ranks) > _RANKS:
            answer.add(f"  and {len(info.ranks) - _RANKS} more ranks")
    if info.exception is not None:
        describe_exception(answer, info.exception)


def _state(info: JobInfo) -> str:
    if info.is_paused:
        return f"is paused {_pause(info)}"
    if info.state == "finished":
        code = "" if info.exit_code is None else f", exit code {info.exit_code}"
        return f"has finished after {info.step} steps{code}, {_hits(info)}"
    if info.has_ended:
        return f"has ended ({info.state}) after {info.step} steps, {_hits(info)}"
    return f"is {info.state}, step {info.step}, {_hits(info)}"


def _pause(info: JobInfo) -> str:
    place = f"after {info.node} in step {info.step}" if info.node else f"at the end of step {info.step}"
    if info.pause_reason == "start":
        return "before its first step"
    if info.pause_reason == "watchpoint":
        numbers = ", ".join(map(str, info.stopped_by))
        return f"by watchpoint {numbers} {place}, {_hits(info)}"
    if info.pause_reason == "error":
        return f"at an exception in step {info.step}, which ends it when it goes on"
    return place


def _hits(info: JobInfo) -> str:
    return f"{info.hit_count} hit{'' if info.hit_count == 1 else 's'}"


def describe_exception(answer: Answer, exception: ExceptionInfo) -> None:
    node = f" at {exception.node}" if exception.node else ""
    answer.add(f"exception{node}:")
    answer.quote(f"{exception.type}: {exception.message}"[:1000])
    lines = exception.traceback.rstrip().split("\n")
    if len(lines) > 1:
        answer.add("the end of its traceback:")
        answer.quote("\n".join(lines[-_TRACEBACK_LINES:]))


def describe_hit(answer: Answer, hit: Json, diagnosis: Json, world_size: int = 1) -> None:
    """Adds where a hit is, what it has found and its likely cause, the most important first."""
    rank = f" on rank {hit['rank']}" if world_size > 1 else ""
    absorbed = ", absorbed: the infinities reached no result" if hit["absorbed"] else ""
    kind = f"{hit['dtype']} {hit['shape']}, " if hit["dtype"] else ""
    answer.add(
        f"hit {hit['id']}: {hit['condition']} at {hit['node']}:{hit['slot']} in step {hit['step']}{rank} "
        f"({hit['op_type'] or 'no op'}, {kind}{hit['origin']}{absorbed})"
    )
    add_source(answer, hit["source"])
    if hit["message"]:
        answer.add("  found:")
        answer.quote(hit["message"])
    if hit["statistics"]:
        answer.add(f"  values: {statistics_line(hit['statistics'])}")
    for each in hit["inputs"]:
        statistics = statistics_line(each["statistics"])
        answer.add(f"  input {each['position']}: {each['dtype']} {each['shape']}, {statistics}")
    if hit["error"]:
        answer.add(f"  could not be checked: {hit['error']}")
    if hit["sent_by"]:
        sender = hit["sent_by"]
        answer.add(f"  came from rank {sender['rank']}, {sender['node']}:{sender['slot']}, by {sender['collective']}")
        add_source(answer, sender["source"])
    if diagnosis["title"]:
        answer.add(f"  cause: {diagnosis['title']}. {diagnosis['text'] or ''}")


def describe_incidents(answer: Answer, incidents: Sequence[Json], world_size: int, details: int = 2) -> None:
    """Adds the first causes with their details, and the others in one line each."""
    for incident in incidents[:details]:
        describe_hit(answer, incident["origin"], incident["diagnosis"], world_size)
        answer.add_all(f"  try: {text}" for text in incident["diagnosis"]["next"][:1])
        if incident["reached_count"]:
            answer.add(f"  reached {incident['reached_count']:,} other tensors")
    for incident in incidents[details:]:
        answer.add(f"hit {incident['origin']['id']}: {describe_incident(incident)}")
        add_source(answer, incident["origin"]["source"])


def add_source(answer: Answer, source: Json | None) -> None:
    """Adds a line of the program, with its text marked as the program's."""
    if not source or not source.get("file"):
        answer.add("  source: unknown")
        return
    function = f", in {source['function']}" if source.get("function") else ""
    answer.add(f"  source: {source['file']}:{source['line']}{function}")
    if source.get("text"):
        answer.quote(f"  {source['text'].strip()}")


def add_stack(answer: Answer, frames: Sequence[Json]) -> None:
    """Adds the program's own frames, innermost first."""
    own = [frame for frame in frames if frame["user"]]
    for frame in own[:_FRAMES]:
        add_source(answer, frame)
    if len(own) > _FRAMES:
        answer.add(f"  and {len(own) - _FRAMES} outer frames")


def statistics_line(statistics: Json) -> str:
    """Counts of what is special, then the range of the finite elements."""
    parts = [f"{statistics['count']:,} elements"]
    for key, word in (
        ("nan_count", "NaN"),
        ("pos_inf_count", "+inf"),
        ("neg_inf_count", "-inf"),
        ("zero_count", "zero"),
    ):
        if statistics[key]:
            parts.append(f"{statistics[key]:,} {word}")
    if statistics["min"] is not None:
        numbers = {name: number(statistics[name]) for name in ("min", "max", "mean")}
        parts.append("finite ones from {min} to {max}, mean {mean}".format(**numbers))
    return ", ".join(parts)


def statistics_lines(statistics: Json) -> Iterator[str]:
    """All statistics of a tensor."""
    counts = ("count", "nan_count", "pos_inf_count", "neg_inf_count", "zero_count", "negative_count", "positive_count")
    yield ", ".join(f"{name} {statistics[name]:,}" for name in counts)
    measures = ("min", "max", "mean", "abs_mean", "abs_max", "variance", "l1", "l2")
    yield "of the finite elements: " + ", ".join(f"{name} {number(statistics[name])}" for name in measures)
    if statistics.get("quantiles"):
        yield "quantiles: " + ", ".join(f"{name} {number(each)}" for name, each in statistics["quantiles"].items())


def number(value: object) -> str:
    """A number of the HTTP interface, which sends those that JSON has not as texts."""
    if value is None:
        return "none"
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return str(value)
    parsed = float(value)
    return f"{parsed:.6g}" if math.isfinite(parsed) else {"nan": "NaN"}.get(str(parsed), str(parsed))
