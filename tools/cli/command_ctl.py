"""`graphdbg ctl JOB VERB`: sends one control command."""

from __future__ import annotations

import argparse
import json

from . import connection
from .client import Json, quote

# Commands of the HTTP interface by verb of the command line.
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
    parser.add_argument("job", help="id of the job (see `graphdbg jobs`)")
    parser.add_argument("verb", choices=tuple(VERBS), help="command to send: %(choices)s")
    parser.add_argument("argument", nargs="?", help="step: number of steps (default: 1); until: full name of the node")
    parser.add_argument("--pending", action="store_true", help="until: accept a node that does not exist yet")
    passed = parser.add_mutually_exclusive_group()
    passed.add_argument("--within", metavar="SCOPE", help="next: pass over nodes of scopes inside this scope")
    passed.add_argument("--outside", metavar="SCOPE", help="next: pass over this scope's nodes and those inside it")
    parser.add_argument(
        "--other-line", action="store_true", help="next: pass over nodes with the source line of the current one"
    )
    parser.add_argument("--rank", type=int, help="control only this rank (default: all ranks together)")
    parser.add_argument("--take-over", action="store_true", help="take over the control of the job from its holder")
    connection.add_options(parser)
    parser.set_defaults(run=run, parser=parser)


def run(arguments: argparse.Namespace) -> int:
    body = _body(arguments)
    client = connection.connect(arguments, arguments.job)
    path = f"/jobs/{quote(arguments.job)}"
    if arguments.take_over:
        client.post(f"{path}/lease", {})
    answer = client.post(f"{path}/control", body)
    print(json.dumps(answer) if arguments.json else f"{arguments.verb}: sent")
    return 0


def _body(arguments: argparse.Namespace) -> Json:
    parser: argparse.ArgumentParser = arguments.parser
    verb, argument = arguments.verb, arguments.argument
    body: Json = {"command": VERBS[verb]}
    if verb == "step":
        if argument is not None and (not argument.isdigit() or int(argument) < 1):
            parser.error(f"step: expected a whole number of at least 1, not '{argument}'")
        body["steps"] = int(argument or 1)
    elif verb == "until":
        if not argument:
            parser.error("until: missing full name of a node")
        body["node"] = argument
        if arguments.pending:
            body["pending"] = True
    elif argument is not None:
        parser.error(f"{verb}: unexpected argument '{argument}'")
    body |= _passed(arguments)
    if arguments.rank is not None:
        body["rank"] = arguments.rank
    if arguments.pending and verb != "until":
        parser.error(f"{verb}: --pending is only valid with until")
    return body


def _passed(arguments: argparse.Namespace) -> Json:
    """The nodes that `next` passes over."""
    given = {name: getattr(arguments, name) for name in ("within", "outside")}
    passed: Json = {name: scope for name, scope in given.items() if scope is not None}
    if arguments.other_line:
        passed["other_line"] = True
    if passed and arguments.verb != "next":
        option = next(iter(passed)).replace("_", "-")
        arguments.parser.error(f"{arguments.verb}: --{option} is only valid with next")
    return passed
