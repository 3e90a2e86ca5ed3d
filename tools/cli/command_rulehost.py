"""`graphdbg rulehost`: evaluates rules that are Python classes over a live job, for a program that feeds it.

Its input has a JSON object on each line:

    {"rules": [RULE, ...], "run": DIRECTORY or null}    first; rules as the configuration writes them
    {"observe": NUMBER, "rank": 0, "tensor": "NODE:SLOT", "step": 1, "mode": "train", "pass": 1, "mode_step": 1,
     "time": SECONDS, "collections": [...], "statistics": {...} or null, "inputs": {NAME: statistics or null}}

NUMBER is that of the rule; the fields behind `pass` may be missing. For a step, `tensor` is "". The job is
over at the end of the input. Its output:

    {"ready": [{"name": ..., "select": {...}, "series": [...], "needs": {...}}, ...]}
    {"rule": NUMBER, "finding": FINDING}
    {"switched_off": NUMBER, "name": ..., "error": ...}
    {"error": ...}                                      last; a request or a rule is invalid, and the exit code is 2

What rules print goes to standard error.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from .client import Json
from .errors import USAGE, CliError

if TYPE_CHECKING:
    from graphdbg.rules.host import RuleHost

_TICK_SECONDS = 1.0
_READ_BYTES = 1 << 16


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "rulehost",
        help="evaluate rules in Python for a program that feeds it observations",
        description="Reads observations of a live job from standard input and writes what rules in Python find to "
        "standard output, one JSON object on each line. A rule that raises an exception, or takes longer than the "
        "time limit, is switched off.",
    )
    parser.add_argument(
        "--rules-from", action="append", default=[], metavar="F.py", help="rules of this Python file (again for more)"
    )
    parser.add_argument(
        "--time-limit", type=float, default=10.0, metavar="S", help="seconds that a call of a rule may take (10)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    # Rules may print, which must not be mistaken for reports.
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def report(message: Json) -> None:
        output.write(json.dumps(message) + "\n")
        output.flush()

    try:
        _serve(arguments, report)
    except CliError as error:
        report({"error": str(error)})
        return USAGE
    except (ValueError, KeyError, TypeError) as error:
        report({"error": f"invalid request: {type(error).__name__}: {error}"})
        return USAGE
    return 0


def _serve(arguments: argparse.Namespace, report: Callable[[Json], None]) -> None:
    """Evaluates rules until the input ends."""
    requests = _requests(_TICK_SECONDS)
    first = next((each for each in requests if each is not None), None)
    if first is None:
        return
    host = _host(first, arguments, report)
    report({"ready": host.describe()})
    for request in requests:
        if request is None:
            host.tick()
        else:
            host.observe(int(request["observe"]), request)
    host.finish()


def _host(first: Json, arguments: argparse.Namespace, report: Callable[[Json], None]) -> RuleHost:
    from graphdbg.rules import load_files, rule_of
    from graphdbg.rules.host import RuleHost
    from graphdbg.runs import open_run

    own = load_files(arguments.rules_from)
    rules = [rule_of(entry, f"rules[{number}]", own) for number, entry in enumerate(first["rules"])]
    recorded = open_run(first["run"]) if first.get("run") else None
    return RuleHost(rules, recorded, report, arguments.time_limit)


def _requests(tick_seconds: float) -> Iterator[Json | None]:
    """Yields the objects of the input's lines, and None once per `tick_seconds`."""
    rest, due = b"", time.monotonic() + tick_seconds
    while True:
        readable, _, _ = select.select([0], [], [], max(0.0, due - time.monotonic()))
        if time.monotonic() >= due:
            due = time.monotonic() + tick_seconds
            yield None
        if not readable:
            continue
        content = os.read(0, _READ_BYTES)
        if not content:
            return
        *lines, rest = (rest + content).split(b"\n")
        for line in lines:
            request = json.loads(line)
            if not isinstance(request, dict):
                raise ValueError(f"expected an object, not {line[:80]!r}")
            yield request
