"""`graphdbg record JOB`: switches the recording of a live job on or off."""

from __future__ import annotations

import argparse
import json

from . import connection
from .client import Json, quote
from .recorded import require, size_text
from .terminal import visible


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "record",
        help="record a live job from now on, or stop",
        description="Switches the recording of a live job on or off between two steps. Without options, records "
        "where and as the job's configuration says. Each rank writes on its own machine.",
    )
    parser.add_argument("job", help="id of the job (see `graphdbg jobs`)")
    parser.add_argument("--off", action="store_true", help="end the recording with the current step")
    parser.add_argument("--status", action="store_true", help="change nothing, and print what is recorded")
    parser.add_argument("--to", metavar="DIR", help="directory of runs on the job's machine (default: runs)")
    parser.add_argument("--level", choices=("light", "statistics", "tensors"), help="what to record of each tensor")
    parser.add_argument(
        "--keep", choices=("all", "ring"), help="keep everything, or only the newest steps until a hit or the end"
    )
    parser.add_argument(
        "--collection", action="append", metavar="NAME", help="record this predefined collection (again for more)"
    )
    connection.add_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    settings = {
        "directory": arguments.to,
        "level": arguments.level,
        "keep": arguments.keep,
        "collections": arguments.collection,
    }
    given = {name: value for name, value in settings.items() if value is not None}
    require(not (given and (arguments.off or arguments.status)), "--off and --status exclude other options")
    client = connection.connect(arguments, arguments.job)
    path = f"/jobs/{quote(arguments.job)}/recording"
    answer = client.get(path) if arguments.status else client.put(path, {"on": not arguments.off, **given})
    if arguments.json:
        print(json.dumps(answer))
        return 0
    for rank in answer["ranks"]:
        print(visible(_line(rank)))
    return 0


def _line(rank: Json) -> str:
    text = f"rank {rank['rank']}: {rank['state']}"
    if rank["directory"] is None:
        return text
    dropped = f", {rank['dropped']} records dropped" if rank["dropped"] else ""
    return f"{text}, {rank['host']}:{rank['directory']}, {rank['steps']} steps, {size_text(rank['bytes'])}{dropped}"
