"""`graphdbg attach` and `graphdbg detach`: debug a training that runs already."""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import sys

from . import command_dbg, report
from .attach import detach
from .attach.attached_job import AttachedJob, AttachOptions, attached_job
from .attach.errors import AlreadyAttachedError
from .attach.foreground import stay
from .attach.injection import METHODS
from .attach.processes import Process
from .attach.ranks import other_ranks, rank_of
from .attach.trainings import attached_jobs, trainings
from .client import Json
from .ending_signals import ended_by_signals
from .errors import UNAVAILABLE, CliError
from .terminal import visible

_METHOD = (
    "how the process is made to run graphdbg: ptrace, remote (sys.remote_exec, CPython 3.14), gdb (stops it for "
    "about a second), or auto (default)"
)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    attach = subparsers.add_parser(
        "attach",
        help="debug a training that runs already, or a job of a running server",
        usage="graphdbg attach --pid PID [options]\n       graphdbg attach --list\n       "
        "graphdbg attach [options] [URL]",
        description="With --pid: puts the agent into a running PyTorch process that was not started for debugging, "
        "and prints the page's address. Without a server that runs, starts one and stays in the foreground; Ctrl-C "
        "detaches. If the process has a job already, debugs it in the terminal. Otherwise the same as graphdbg dbg, "
        "for a job of the server at URL or of this machine; if none runs, lists the trainings of this machine.",
        epilog="Exit codes: 0 success, 1 the process cannot be attached to, 2 wrong usage, 3 no server or no job.",
    )
    command_dbg.add_arguments(attach, "target", "URL")
    attach.add_argument("--list", action="store_true", help="list this user's trainings on this machine")
    attach.add_argument(
        "--all",
        action="store_true",
        help="with --pid: all ranks of its training on this machine; without: all trainings of this machine",
    )
    attach.add_argument(
        "--break-on",
        action="append",
        default=[],
        metavar="CONDITIONS",
        help="watch all tensors for these conditions, as graphdbg run does",
    )
    attach.add_argument("--method", choices=METHODS, default="auto", help=_METHOD)
    attach.add_argument("--compile", action="store_true", help="compile an adapter for its PyTorch if there is none")
    attach.add_argument("--move", action="store_true", help="take it over from the server that it is attached to")
    attach.add_argument("--json", action="store_true", help="print JSON")
    attach.set_defaults(run=run_attach)
    leave = subparsers.add_parser(
        "detach",
        help="take the agent out of a training, which continues",
        description="Undoes what graphdbg attach --pid has changed in a process. A paused training continues.",
    )
    leave.add_argument("pid", type=int, metavar="PID")
    leave.add_argument("--method", choices=METHODS, default="auto", help=_METHOD)
    leave.add_argument("--json", action="store_true", help="print JSON")
    leave.set_defaults(run=run_detach)


def run_attach(arguments: argparse.Namespace) -> int:
    if arguments.list:
        return _list(arguments.json)
    if arguments.pid is not None:
        return _attach(arguments.pid, arguments)
    if arguments.all:
        return _attach_all(arguments)
    if not (arguments.target or arguments.server or arguments.command_line or attached_jobs()):
        return _list(arguments.json)
    return command_dbg.run(arguments)


def run_detach(arguments: argparse.Namespace) -> int:
    answer = detach(arguments.pid, method=arguments.method, say=report.log)
    if arguments.json:
        print(json.dumps(answer))
    else:
        report.log(f"process {arguments.pid}: {answer['message']}")
    return 0


def _attach(pid: int, arguments: argparse.Namespace) -> int:
    client, job = attached_jobs().get(pid, (None, None))
    if client is not None:
        is_elsewhere = arguments.server is not None and client.address != arguments.server.rstrip("/")
        if arguments.move:
            detach(pid, method=arguments.method, say=report.log)
        elif is_elsewhere or arguments.json:
            raise AlreadyAttachedError(f"already attached, to {client.address} as job {job}; --move takes it over")
        else:
            return command_dbg.run(arguments)
    return _join([pid, *_further_ranks(Process(pid), arguments)], arguments)


def _further_ranks(process: Process, arguments: argparse.Namespace) -> list[int]:
    """The other ranks on this machine, if they are wanted."""
    others = other_ranks(process)
    if not others:
        return []
    pids = [each.pid for each in others]
    if arguments.all:
        return pids
    listed = ", ".join(f"{each.pid} (rank {rank_of(each)})" for each in others)
    question = f"process {process.pid} is rank {rank_of(process)}; the others on this machine are {listed}"
    if sys.stdin.isatty() and sys.stderr.isatty() and not arguments.json:
        report.log(question)
        print("graphdbg: attach to all of them? [Y/n] ", end="", file=sys.stderr, flush=True)
        return pids if sys.stdin.readline().strip().lower() in ("", "y", "yes") else []
    report.log(f"{question}; --all attaches to all of them")
    return []


def _attach_all(arguments: argparse.Namespace) -> int:
    pids = [row["pid"] for row in trainings() if row["job"] is None]
    if not pids:
        raise CliError("no training runs on this machine that is not attached", UNAVAILABLE)
    return _join(pids, arguments)


def _join(pids: list[int], arguments: argparse.Namespace) -> int:
    options = AttachOptions(
        arguments.server, arguments.token_file, arguments.break_on, arguments.method, arguments.compile
    )
    with contextlib.ExitStack() as open_things:
        try:
            job = open_things.enter_context(attached_job(pids, options))
        except KeyboardInterrupt:
            report.log("gave up waiting; the text does nothing should it run yet")
            return 130
        if arguments.files or arguments.lines or arguments.batch:
            _report(job, arguments.json)
            return command_dbg.debug_job(job.server.client, job.job, arguments)
        with ended_by_signals() as ended:
            _report(job, arguments.json)
            if job.server.own is not None:
                stay(job, ended)
    return 0


def _report(job: AttachedJob, as_json: bool) -> None:
    page = job.server.client.page(job.path)["url"]
    if as_json:
        print(json.dumps(_described(job, page)), flush=True)
        return
    for each in job.joined:
        process = each.target.process
        report.log(f"process {process.pid} ({process.script}, torch {each.target.torch}): {each.message}")
    report.log(f"job {job.job}")
    report.log_page(page)


def _described(job: AttachedJob, page: str) -> Json:
    first = job.joined[0]
    return {
        "state": "attached",
        "job": job.job,
        "url": page,
        "server": job.server.client.address,
        "message": first.message,
        "processes": [
            {
                "pid": each.target.process.pid,
                "script": each.target.process.script,
                "python": each.target.python,
                "torch": each.target.torch,
                "stopped_us": each.queued.stopped_us,
                "seconds": round(each.seconds, 3),
            }
            for each in job.joined
        ],
    }


def _list(as_json: bool) -> int:
    rows = trainings()
    if as_json:
        print(json.dumps({"host": socket.gethostname(), "trainings": rows}))
        return 0
    if not rows:
        raise CliError("no training of yours runs on this machine", UNAVAILABLE)
    print(f"{'PID':>8}  {'TORCH':<14}{'SINCE':<21}{'ATTACHED':<34}SCRIPT")
    for row in rows:
        attached = f"{row['job']} at {row['server']}" if row["job"] else "no"
        print(f"{row['pid']:>8}  {row['torch']:<14}{row['since']:<21}{visible(attached):<34}{visible(row['script'])}")
    return 0
