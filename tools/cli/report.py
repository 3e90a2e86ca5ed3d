"""Lines that `graphdbg run` writes to stderr for people."""

from __future__ import annotations

import sys
from pathlib import Path

from .client import Json


def say(text: str) -> None:
    print(f"graphdbg: {text}", file=sys.stderr, flush=True)


def describe_source(source: Json | None) -> str:
    if not source or not source.get("file"):
        return "source unknown"
    place = f"{_short(source['file'])}:{source['line']}"
    text = source.get("text")
    return f"{place}: {text}" if text else place


def describe_statistics(statistics: Json) -> str:
    """Counts of what is not finite, then the range of what is."""
    parts = [f"{statistics['count']} values"]
    for key, word in (("nan_count", "NaN"), ("pos_inf_count", "+inf"), ("neg_inf_count", "-inf")):
        if statistics[key]:
            parts.append(f"{statistics[key]} {word}")
    if statistics["min"] is not None:
        parts.append(
            "finite ones from {:.6g} to {:.6g}, mean {:.6g}".format(*(statistics[k] for k in ("min", "max", "mean")))
        )
    return ", ".join(parts)


def say_hit(hit: Json) -> None:
    say(f"watchpoint {hit['watchpoint']} ({hit['condition']}) hit in step {hit['step']}")
    turn = f"iteration {hit['actual']['iteration']:g}" if "iteration" in hit["actual"] else ""
    what = ", ".join(filter(None, (hit["op_type"], hit["origin"], turn)))
    say(f"  node    {hit['node']}:{hit['slot']}  ({what})")
    if hit["source"]:
        say(f"  source  {describe_source(hit['source'])}")
    say(f"  values  {describe_statistics(hit['statistics'])}")


def say_summary(result: Json) -> None:
    hits = result["hits"]
    say(
        f"{result['status']} after {result['steps']} steps in {result['wall_seconds']:.1f} s, "
        f"exit code {result['exit_code']}, {len(hits)} hit{'' if len(hits) == 1 else 's'}"
    )
    if result["exception"]:
        say(f"  {result['exception']['type']}: {result['exception']['message']}")
    if hits:
        first = hits[0]
        where = f"{first['node']}:{first['slot']} in step {first['step']}"
        say(f"  first: {first['condition']} at {where}, {describe_source(first['source'])}")


def _short(file: str) -> str:
    """Relative to the working directory where that is shorter."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file
