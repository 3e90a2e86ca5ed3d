"""`graphdbg rulehost`: evaluates rules that are Python classes over a run that is still recorded.

`graphdbg run` starts it as a process of its own, so that a rule that hangs or crashes does no harm. Its input has a
JSON object on each line:

    {"rules": [RULE, ...], "run": DIRECTORY}            first; rules as the configuration writes them
    {"paused": true or false}                           meanwhile no time passes for rules on silence

The job is over at the end of the input. Its output:

    {"ready": [NAME, ...]}                              of the rules; the others name them by their numbers
    {"at": NUMBER or null}                              a sign of life, about once per second: the rule that it is at
    {"rule": NUMBER, "finding": FINDING}
    {"rule": NUMBER, "counts": {"observations": N, "unknown": N, "missing": TEXT}}
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
_UPDATE_SECONDS = 0.25
_READ_BYTES = 1 << 16


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "rulehost",
        help="evaluate rules in Python while a run is recorded, for a program that starts it",
        description="Follows a run that is recorded and writes what rules in Python find to standard output, one JSON "
        "object on each line; the first line of standard input names the rules and the run, and its end is that of the "
        "job. A rule that raises an exception, or takes longer than the time limit, is switched off.",
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
    except BrokenPipeError:
        # The reader of the reports has ended.
        return 0
    return 0


def _serve(arguments: argparse.Namespace, report: Callable[[Json], None]) -> None:
    """Evaluates rules until the input ends."""
    requests = _requests(_UPDATE_SECONDS)
    first = next((each for each in requests if each is not None), None)
    if first is None:
        return
    host = _host(first, arguments, report)
    next_tick = time.monotonic() + _TICK_SECONDS
    for request in requests:
        if request is not None:
            host.set_paused(request.get("paused") is True)
            continue
        host.update()
        if time.monotonic() >= next_tick:
            next_tick = time.monotonic() + _TICK_SECONDS
            host.tick()
    host.finish()


def _host(first: Json, arguments: argparse.Namespace, report: Callable[[Json], None]) -> RuleHost:
    from graphdbg.rules import load_files, rule_of
    from graphdbg.rules.host import RuleHost
    from graphdbg.runs import open_run

    if not isinstance(first.get("rules"), list) or not isinstance(first.get("run"), str):
        raise CliError("expected the rules and the run's directory first", USAGE)
    own = load_files(arguments.rules_from)
    rules = [rule_of(entry, f"rules[{number}]", own) for number, entry in enumerate(first["rules"])]
    host = RuleHost(rules, open_run(first["run"]), report, arguments.time_limit)
    report({"ready": [rule.name for rule in rules]})
    return host


def _requests(seconds: float) -> Iterator[Json | None]:
    """Yields the objects of the input's lines, and None whenever there were none for some seconds."""
    rest = b""
    while True:
        readable, _, _ = select.select([0], [], [], seconds)
        if not readable:
            yield None
            continue
        content = os.read(0, _READ_BYTES)
        if not content:
            return
        *lines, rest = (rest + content).split(b"\n")
        for line in lines:
            try:
                request = json.loads(line)
            except ValueError:
                request = None
            if not isinstance(request, dict):
                raise CliError(f"expected an object, not {line[:80]!r}", USAGE)
            yield request
