"""`graphdbg run -- COMMAND`: debugs one job with a server that runs only for it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from . import configuration, report
from .black_box import run_black_box
from .client import Json
from .debug_run import RunOptions, debug
from .errors import NOT_DEBUGGED, USAGE, CliError
from .onnx_job import is_model, model_command


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "run",
        help="debug a training script",
        usage="graphdbg run [options] -- python train.py ...\n       graphdbg run [options] -- model.onnx [--help]",
        description="Starts a server on free ports, prints the page's address, and runs the job. "
        "The job's output passes through unchanged; graphdbg's own messages go to stderr. "
        "All jobs that the command starts are debugged, one after the other or at the same time. "
        "Exits with the command's exit code; with 4 if that is 0 and no process was debugged.",
    )
    parser.add_argument(
        "--no-wait", action="store_true", help="start training immediately instead of waiting for Continue"
    )
    parser.add_argument(
        "--steps", type=positive, metavar="N", help="start immediately and terminate the job after N steps"
    )
    parser.add_argument(
        "--break-on",
        action="append",
        default=[],
        metavar="CONDITIONS",
        help="watch all tensors for these conditions, for example nan,inf or abs_max_gt:1e3 or "
        "tensor_too_large:mean_gt=1:max_gt=9 or 'expr:abs_max > 1e3 && step > 100' or 'expr:p99 > 10' (a quantile) or "
        "tensor_all_zero:axis=1 (for each channel), or for a set of them: recommended, "
        "not_training (training that does not learn); can be repeated; `graphdbg conditions` lists all, with causes",
    )
    parser.add_argument(
        "--intentional-inf",
        action="append",
        type=_pattern,
        default=[],
        metavar="PATTERN",
        help="infinities that arise in these nodes are intentional and no hits, for example '**/attention/scores*' or "
        "op_type:where (* within a path segment, ** across segments); can be repeated, and adds to "
        "intentional_infinities of the configuration",
    )
    parser.add_argument(
        "--on-hit",
        choices=("pause", "continue", "terminate"),
        default="pause",
        help="what to do at a hit (default: %(default)s)",
    )
    parser.add_argument(
        "--hit-exit-code",
        type=_exit_code,
        default=0,
        metavar="N",
        help="exit with N if there was a hit and the command itself ended with 0, as it does with "
        "--on-hit continue (default: 0)",
    )
    parser.add_argument(
        "--on-error",
        choices=("pause", "continue"),
        help="what to do with a job that an uncaught exception ends: pause, so that it can be looked at, or "
        "let it end (default: pause if this is a terminal or the job's page is open)",
    )
    parser.add_argument(
        "--no-overview",
        action="store_true",
        help="do not measure what the page's overview of all modules shows, at most 1 %% of the job's time",
    )
    parser.add_argument("--no-hold", action="store_true", help="end with the job even if a browser shows its page")
    parser.add_argument(
        "--record",
        metavar="DIR",
        help="record the job's tensors' statistics, its graph and its hits in a new directory below this one",
    )
    parser.add_argument(
        "--capture",
        metavar="DIR",
        help="write a bundle for each of the first 3 hits to this directory, for `graphdbg replay`: the op and those "
        "that led to it, with their values",
    )
    parser.add_argument(
        "--black-box",
        type=Path,
        metavar="DIR",
        help="keep the last 100 steps of every op's statistics in a new directory below this one, for `graphdbg open` "
        "after a crash or a hang; starts immediately, without a server and a page",
    )
    parser.add_argument(
        "--nudge-inputs",
        action="store_true",
        help="change the floating-point inputs of PyTorch models in the last bit, to record a run by which `graphdbg "
        "diff --calibrate` measures rounding; results differ from those of an ordinary run",
    )
    configuration.add_option(parser)
    configuration.add_rules_option(parser)
    parser.add_argument("--result", type=Path, metavar="FILE.json", help="write the result object to this file")
    parser.add_argument("--port", type=int, default=0, help="port of the page (default: a free port)")
    parser.add_argument("--json", action="store_true", help="print the result object to stdout at the end")
    parser.add_argument("job", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="command of the job")
    parser.set_defaults(run=run, parser=parser)


def run(arguments: argparse.Namespace) -> int:
    command = arguments.job[1:] if arguments.job[:1] == ["--"] else arguments.job
    if not command:
        arguments.parser.error("missing command: put it after --, as in: graphdbg run -- python train.py")
    if is_model(command[0]):
        command = model_command(command)
    if arguments.black_box:
        if arguments.nudge_inputs:
            arguments.parser.error("--nudge-inputs is for runs that are compared: use --record")
        _check_needs_no_server(arguments)
        configured = configuration.read(arguments.config)
        configuration.add_intentional(configured, arguments.intentional_inf)
        return run_black_box(command, arguments.black_box, configured)
    check_result_file(arguments.result)
    configured = configuration.read(arguments.config, arguments.rules_from)
    configuration.add_intentional(configured, arguments.intentional_inf)
    options = RunOptions(
        wait=not arguments.no_wait,
        steps=arguments.steps,
        break_on=arguments.break_on,
        on_hit=arguments.on_hit,
        on_error=arguments.on_error or ("pause" if _has_terminal() else None),
        hold=not arguments.no_hold,
        on_result=lambda result: _report(result, arguments),
        port=arguments.port,
        record=arguments.record,
        capture=arguments.capture,
        environment=_environment(arguments),
        configuration=configured,
    )
    return _exit_code_of(debug(command, options), arguments.hit_exit_code)


def _environment(arguments: argparse.Namespace) -> dict[str, str]:
    nudge = {"GRAPHDBG_NUDGE_INPUTS": "1"} if arguments.nudge_inputs else {}
    overview = {"GRAPHDBG_OVERVIEW": "0"} if arguments.no_overview else {}
    return nudge | overview


def _check_needs_no_server(arguments: argparse.Namespace) -> None:
    """Options that need a server exclude --black-box."""
    excluded = (
        "steps",
        "break_on",
        "on_error",
        "record",
        "capture",
        "result",
        "port",
        "json",
        "hit_exit_code",
        "rules_from",
        "nudge_inputs",
    )
    for name in excluded:
        if getattr(arguments, name):
            option = f"--{name.replace('_', '-')}"
            raise CliError(
                f"{option} needs a server, and --black-box starts none; to have both, set GRAPHDBG_BLACK_BOX=DIR and "
                "leave out --black-box",
                USAGE,
            )


def _has_terminal() -> bool:
    """Whether a user sees the output and can answer, and has not decided by the environment."""
    return sys.stdin.isatty() and sys.stderr.isatty() and "GRAPHDBG_ON_ERROR" not in os.environ


def _report(result: Json, arguments: argparse.Namespace) -> None:
    report.log_summary(result)
    if arguments.result:
        arguments.result.write_text(json.dumps(result, indent=2) + "\n")
    if arguments.json:
        print(json.dumps(result), flush=True)


def _exit_code_of(result: Json, hit_exit_code: int) -> int:
    if result["exit_code"] != 0:
        return int(result["exit_code"])
    if not result["debugged"]:
        return NOT_DEBUGGED
    return hit_exit_code if result["hits"] else 0


def _exit_code(text: str) -> int:
    if not text.isdigit() or int(text) > 255:
        raise argparse.ArgumentTypeError(f"expected an exit code from 0 to 255, not '{text}'")
    return int(text)


def _pattern(text: str) -> str:
    if not text.strip() or "," in text:
        raise argparse.ArgumentTypeError(f"expected one pattern without commas, not '{text}'")
    return text.strip()


def positive(text: str) -> int:
    """The type of options that count."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, not '{text}'")
    return int(text)


def check_result_file(file: Path | None) -> None:
    """Raises CliError if the result cannot be written, before hours of training rather than after them."""
    if file and not file.resolve().parent.is_dir():
        raise CliError(f"--result: no such directory: {file.resolve().parent}", USAGE)
