"""`graphdbg check -- COMMAND`: follows a training program through the stages of its bring-up."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from . import configuration, report
from .check import determinism, stages
from .check.job import CheckedJob, Ending
from .check.records import STAGES, Record, read_records
from .client import Json
from .command_run import check_result_file, positive
from .scratch import scratch_directory
from .terminal import visible

_MARKS = {"passed": "ok", "failed": "!!", "not_reached": "--"}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "check",
        help="check a training script stage by stage",
        usage="graphdbg check [options] -- python train.py ...",
        description="Runs an unchanged training program for a few steps and reports each stage of its bring-up: "
        "environment, imports, model, data, forward, loss, backward, optimizer, second step, run. A stage that fails "
        "is reported with its cause, the source line and advice. Exits with 1 if a stage has failed.",
    )
    parser.add_argument(
        "--steps", type=positive, default=10, metavar="N", help="end the program after N steps (default: %(default)s)"
    )
    parser.add_argument(
        "--repeat",
        action="store_true",
        help="run the first step a second time and compare inputs, outputs, gradients and weights to the bit",
    )
    parser.add_argument("--timeout", type=_seconds, metavar="SECONDS", help="end the program after this time")
    configuration.add_option(parser)
    parser.add_argument("--result", type=Path, metavar="FILE.json", help="write the result object to this file")
    parser.add_argument(
        "--json", action="store_true", help="print the result object to stdout, and the program's output to stderr"
    )
    parser.add_argument("job", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="command of the program")
    parser.set_defaults(run=run, parser=parser)


def run(arguments: argparse.Namespace) -> int:
    command = arguments.job[1:] if arguments.job[:1] == ["--"] else arguments.job
    if not command:
        arguments.parser.error("missing command: put it after --, as in: graphdbg check -- python train.py")
    check_result_file(arguments.result)
    settings = configuration.read(arguments.config)
    if settings.watchpoints:
        report.log(f"{settings.file}: watchpoints are not used by graphdbg check")
    job = CheckedJob(
        command,
        settings.environment,
        arguments.steps,
        arguments.repeat,
        arguments.timeout,
        stdout=sys.stderr.fileno() if arguments.json else None,
    )
    records, ending = _run(job)
    repeated = _repeat(job, records) if arguments.repeat else None
    result = _result(records, ending, command, repeated)
    if arguments.result:
        arguments.result.write_text(json.dumps(result, indent=2) + "\n")
    if arguments.json:
        print(json.dumps(result))
    else:
        _print(result)
    return 1 if _has_failed(result) else 0


def _run(job: CheckedJob) -> tuple[list[Record], Ending]:
    with scratch_directory("graphdbg-check-") as directory:
        ending = job.run(directory)
        return read_records(directory), ending


def _repeat(job: CheckedJob, records: Sequence[Record]) -> Json:
    report.log("running the first step again")
    job.steps = 1
    job.stdout = job.stderr = subprocess.DEVNULL
    again, _ = _run(job)
    return determinism.compare(records, again)


def _result(records: Sequence[Record], ending: Ending, command: Sequence[str], repeated: Json | None) -> Json:
    judged, cause = stages.judge(records, ending, command)
    failed = any(stage["state"] == "failed" for stage in judged)
    exception = None
    if cause is not None and cause.traceback:
        exception = {"type": cause.type, "message": cause.message, "traceback": cause.traceback, "node": None}
    return {
        "status": "failed" if failed else "finished",
        "exit_code": ending.code,
        "exception": exception,
        "steps": max((record.step for record in records), default=0),
        "wall_seconds": round(ending.seconds, 3),
        "overhead": None,
        "hits": [],
        "absorbed_hits": [],
        "incidents": [],
        "stages": judged,
        "run": None,
        "metrics": {},
        "artifacts": [],
        "debugged": False,
        "findings": [],
        "ranks": _ranks(records),
        "determinism": repeated,
    }


def _ranks(records: Sequence[Record]) -> list[Json]:
    """How far each rank has come."""
    training = sorted((record for record in records if record.is_training), key=lambda record: record.rank)
    return [
        {
            "rank": record.rank,
            "pid": record.pid,
            "passed": [name for name in STAGES if name in record.passed],
            "steps": record.step,
        }
        for record in training
    ]


def _has_failed(result: Json) -> bool:
    repeated = result["determinism"]
    return result["status"] == "failed" or (repeated is not None and repeated["same"] is not True)


def _print(result: Json) -> None:
    for stage in result["stages"]:
        rank = "" if stage["rank"] is None else f" (rank {stage['rank']})"
        state = stage["state"].replace("_", " ")
        print(f"{_MARKS[stage['state']]}  {stage['name']:12} {state}{rank}  {visible(stage['message'])}".rstrip())
        if stage["source"]:
            print(f"      at      {visible(report.describe_source(stage['source'] | {'text': stage['code']}))}")
        if stage["advice"]:
            print(f"      advice  {visible(stage['advice'])}")
    if result["determinism"] is not None:
        _print_determinism(result["determinism"])


def _print_determinism(repeated: Json) -> None:
    if repeated["same"] is None:
        print("--  determinism  not compared: the first step was not reached in both runs")
    elif repeated["same"]:
        print("ok  determinism  the first step is the same to the bit in two runs")
    else:
        rank = f" (rank {repeated['rank']})" if repeated["rank"] else ""
        print(f"!!  determinism  two runs differ first in: {repeated['differs']}{rank}")
        print(f"      advice  {visible(repeated['advice'])}")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, not '{text}'")
    return seconds
