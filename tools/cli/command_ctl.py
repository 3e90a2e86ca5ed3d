"""`graphdbg ctl JOB VERB`: one control command for scripts."""

from __future__ import annotations

import argparse
import json

from . import connection
from .client import Json, quote

# The verbs of the command line and the commands of the HTTP interface.
VERBS = {
    "continue": "continue",
    "step": "step",
    "next": "next_node",
    "until": "continue_to",
    "pause": "pause",
    "terminate": "terminate",
    "recheck": "recheck",
}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("ctl", help="control a job from a script")
    parser.add_argument("job", help="the job's id, see `graphdbg jobs`")
    parser.add_argument("verb", choices=tuple(VERBS))
    parser.add_argument("argument", nargs="?", help="step: how many; until: the node's full name")
    parser.add_argument("--pending", action="store_true", help="until: the node may be one that has not been seen yet")
    parser.add_argument("--rank", type=int, help="move this rank alone (default: all, together)")
    connection.add_options(parser)
    parser.set_defaults(run=run, parser=parser)


def run(arguments: argparse.Namespace) -> int:
    body = _body(arguments)
    answer = connection.connect(arguments).post(f"/jobs/{quote(arguments.job)}/control", body)
    print(json.dumps(answer) if arguments.json else f"{arguments.verb}: sent")
    return 0


def _body(arguments: argparse.Namespace) -> Json:
    parser: argparse.ArgumentParser = arguments.parser
    verb, argument = arguments.verb, arguments.argument
    body: Json = {"command": VERBS[verb]}
    if verb == "step":
        if argument is not None and (not argument.isdigit() or int(argument) < 1):
            parser.error(f"step takes a whole number from 1, not '{argument}'")
        body["steps"] = int(argument or 1)
    elif verb == "until":
        if not argument:
            parser.error("until needs the full name of a node")
        body["node"] = argument
        if arguments.pending:
            body["pending"] = True
    elif argument is not None:
        parser.error(f"{verb} takes no argument, but got '{argument}'")
    if arguments.rank is not None:
        body["rank"] = arguments.rank
    if arguments.pending and verb != "until":
        parser.error(f"{verb} takes no --pending")
    return body
