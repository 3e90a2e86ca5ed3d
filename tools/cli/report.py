"""Messages of `graphdbg run` on stderr."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from .client import Json
from .terminal import visible

# Of a summary.
_MAX_INCIDENTS = 3


def log(text: str) -> None:
    """Prints one line. `text` may contain names and messages from the job."""
    print(f"graphdbg: {visible(text)}", file=sys.stderr, flush=True)


def log_page(url: str) -> None:
    log(f"page: {url}")
    log("this address works once and for 60 seconds; 'graphdbg url' prints a new one")


def describe_source(source: Json | None) -> str:
    if not source or not source.get("file"):
        return "unknown source"
    location = f"{_short(source['file'])}:{source['line']}"
    text = source.get("text")
    return f"{location}: {text}" if text else location


def describe_statistics(statistics: Json) -> str:
    """Counts of NaN and infinities, then the range of the finite values."""
    parts = [f"{statistics['count']} values"]
    for key, word in (("nan_count", "NaN"), ("pos_inf_count", "+inf"), ("neg_inf_count", "-inf")):
        if statistics[key]:
            parts.append(f"{statistics[key]} {word}")
    if statistics["min"] is not None:
        parts.append(
            "finite values from {:.6g} to {:.6g}, mean {:.6g}".format(*(statistics[k] for k in ("min", "max", "mean")))
        )
    return ", ".join(parts)


def log_not_debugged(exit_code: int) -> None:
    log(
        "nothing was debugged: no process of the program has trained with PyTorch or TensorFlow, or run ONNX Runtime, "
        "or an error is reported above"
        if exit_code == 0
        else "the program ended before it could be debugged"
    )


def log_incident(incident: Json, job: Json) -> None:
    """Prints where an incident began, and its likely cause."""
    log_hit(incident["origin"], job, incident["diagnosis"])


def log_spread(incident: Json) -> None:
    """Says that the job has stopped for an incident that was logged before."""
    log(f"goes on: {describe_incident(incident)}")


def describe_incident(incident: Json) -> str:
    """An incident in one line: what, where, when, and how far it has spread."""
    origin = incident["origin"]
    what = incident["diagnosis"]["title"] or ", ".join(incident["conditions"])
    ranks = f", rank {incident['first_rank']}" if len(incident["ranks"]) > 1 else ""
    count = incident["reached_count"]
    reached = f", reached {count:,} other tensor{'' if count == 1 else 's'}" if count else ""
    return f"{what} at {origin['node']}:{origin['slot']} in {_describe_steps(incident['steps'])}{ranks}{reached}"


def _describe_steps(ranges: Sequence[Json]) -> str:
    """ "step 3", "steps 1 to 3, each step" or "steps 1, 4 to 6"."""
    texts = [
        str(each["first"]) if each["first"] == each["last"] else f"{each['first']} to {each['last']}" for each in ranges
    ]
    if len(ranges) > 1:
        return f"steps {', '.join(texts)}"
    return f"step {texts[0]}" if ranges[0]["first"] == ranges[0]["last"] else f"steps {texts[0]}, each step"


def log_hit(hit: Json, job: Json, diagnosis: Json) -> None:
    place = f" on rank {hit['rank']}" if job["world_size"] > 1 else ""
    log(f"watchpoint {hit['watchpoint']} ({hit['condition']}) hit in step {hit['step']}{place}")
    iteration = f"iteration {hit['actual']['iteration']:g}" if "iteration" in hit["actual"] else ""
    details = ", ".join(filter(None, (hit["op_type"], hit["origin"], iteration)))
    log(f"  node    {hit['node']}:{hit['slot']}  ({details})")
    if hit["source"]:
        log(f"  source  {describe_source(hit['source'])}")
    if hit["message"]:
        log(f"  found   {hit['message']}")
    if hit["sent_by"]:
        log(f"  sent by {_describe_sender(hit['sent_by'])}")
    if hit["statistics"]:
        log(f"  values  {describe_statistics(hit['statistics'])}")
    # The first of each is the most specific; the page shows all.
    if diagnosis["title"] and not hit["message"]:
        log(f"  cause   {diagnosis['title']}. {diagnosis['text']}")
    elif diagnosis["causes"]:
        log(f"  cause?  {diagnosis['causes'][0]}")
    if diagnosis["next"]:
        log(f"  try     {diagnosis['next'][0]}")


def _describe_sender(sender: Json) -> str:
    """Another rank's op, and the collective through which its values came."""
    source = f", {describe_source(sender['source'])}" if sender["source"] else ""
    return f"rank {sender['rank']}, {sender['node']}:{sender['slot']}{source}, through {sender['collective']}"


def log_failure(job: Json, page: str) -> None:
    exception = job["exception"]
    place = f" at {exception['node']}" if exception["node"] else ""
    first_line = str(exception["message"]).partition("\n")[0]
    log(f"job {job['id']} is paused at an exception in step {job['step']}{place}: {exception['type']}: {first_line}")
    log(f"inspect it at {page}; Continue lets the job end")


def log_summary(result: Json) -> None:
    hits = result["hits"]
    log(
        f"{result['status']} after {result['steps']} steps in {result['wall_seconds']:.1f} s, "
        f"exit code {result['exit_code']}, {len(hits)} hit{'' if len(hits) == 1 else 's'}"
    )
    if result["exception"]:
        first, *others = str(result["exception"]["message"]).split("\n")
        log(f"  {result['exception']['type']}: {first}")
        for line in others:
            log(f"    {line}")
    if len(result["jobs"]) > 1:
        for job in result["jobs"]:
            _log_job(job)
    _log_incidents(result.get("incidents", []))
    log_absorbed(result.get("absorbed_hits", []))


def _log_incidents(incidents: Sequence[Json]) -> None:
    for incident in incidents[:_MAX_INCIDENTS]:
        log(f"  {describe_incident(incident)}, {describe_source(incident['origin']['source'])}")
        if incident["diagnosis"]["text"]:
            log(f"    {incident['diagnosis']['text']}")
    if len(incidents) > _MAX_INCIDENTS:
        log(f"  and {len(incidents) - _MAX_INCIDENTS} more; the page and the result object have all")


def log_absorbed(hits: Sequence[Json]) -> None:
    """Says which infinities reached no result, once for each node."""
    nodes = dict.fromkeys(hit["node"] for hit in hits)
    if not nodes:
        return
    first, *others = nodes
    more = f" and {len(others)} other node{'' if len(others) == 1 else 's'}" if others else ""
    log(f"  not counted: infinities at {first}{more} that reached no result (--break-on inf:absorbed=stop stops there)")


def _log_job(job: Json) -> None:
    ranks = f" ({job['world_size']} ranks)" if job["world_size"] > 1 else ""
    count = job["hit_count"]
    log(f"  job {job['id']}{ranks}: {job['state']} after {job['steps']} steps, {count} hit{'' if count == 1 else 's'}")


def _short(file: str) -> str:
    """The path relative to the working directory if the file is below it."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file
