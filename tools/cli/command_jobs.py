"""`graphdbg jobs`: lists the jobs of a server, and with --all those that are kept."""

from __future__ import annotations

import argparse
import json

from . import connection
from .client import Json
from .kept_jobs import KeptJob, kept_jobs
from .terminal import visible


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "jobs",
        help="list the jobs of a server",
        description="Lists the jobs of a server. With --all, those of all servers of this user on this machine, and "
        "the jobs of `graphdbg run` that have ended, which are kept for a week; `graphdbg open JOB` shows one again.",
    )
    parser.add_argument("--all", action="store_true", help="jobs of all servers of this machine, and those kept")
    connection.add_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    jobs = _jobs_of_all() if arguments.all else connection.connect(arguments).get("/jobs")["jobs"]
    kept = kept_jobs() if arguments.all else []
    if arguments.json:
        print(json.dumps({"jobs": jobs} | ({"kept": [job.as_json() for job in kept]} if arguments.all else {})))
        return 0
    for job in jobs:
        position = f"at {job['node']}" if job["node"] else ""
        _print(job["id"], job["state"], job["step"], job["hit_count"], position)
    for old in kept:
        _print(old.id, old.status, old.steps, old.hit_count, _ended(old))
    if not jobs and not kept:
        print("no jobs")
    return 0


def _jobs_of_all() -> list[Json]:
    return [job for client in connection.connect_to_all() for job in client.get("/jobs")["jobs"]]


def _ended(job: KeptJob) -> str:
    return f"ended {job.ended_at}"


def _print(name: str, state: str, step: int, hits: int, rest: str) -> None:
    print(visible(f"{name:30}  {state:10}  step {step:<8} hits {hits:<6} {rest}".rstrip()))
