"""`graphdbg jobs`: lists the jobs of a server."""

from __future__ import annotations

import argparse
import json

from . import connection
from .terminal import visible


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("jobs", help="list the jobs of a server")
    connection.add_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    jobs = connection.connect(arguments).get("/jobs")["jobs"]
    if arguments.json:
        print(json.dumps({"jobs": jobs}))
        return 0
    for job in jobs:
        position = f"at {job['node']}" if job["node"] else ""
        line = f"{job['id']:30}  {job['state']:10}  step {job['step']:<8} hits {job['hit_count']:<6} {position}"
        print(visible(line.rstrip()))
    if not jobs:
        print("no jobs")
    return 0
