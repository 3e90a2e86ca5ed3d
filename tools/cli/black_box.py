"""`graphdbg run --black-box`: runs a command that keeps its last steps, without a server."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from . import report
from .configuration import JobConfiguration
from .errors import NOT_DEBUGGED
from .job_process import JobProcess, signals_to
from .last_ops import last_op_lines
from .recorded_run import runs_of


def run_black_box(command: Sequence[str], directory: Path, configuration: JobConfiguration) -> int:
    """Runs the command, prints what it was doing if it was killed, and returns its exit code."""
    before = runs_of(directory)
    # The job may change its working directory.
    variables = {"GRAPHDBG_BLACK_BOX": str(directory.absolute()), "GRAPHDBG_RECORD": ""}
    process = JobProcess(command, None, configuration.environment | variables)
    with signals_to(process):
        exit_code = process.exit_code()
    killed = process.killed_by()
    if killed:
        report.log(f"the job was killed by {killed}")
    new = runs_of(directory) - before
    for run in sorted(new):
        _describe(run)
    if not new:
        report.log_not_debugged(exit_code)
    return exit_code or (0 if new else NOT_DEBUGGED)


def _describe(directory: Path) -> None:
    from graphdbg.runs import open_run

    run = open_run(directory)
    for line in last_op_lines(run):
        report.log(line)
    if run.ended not in ("exit", None):
        report.log(f"the last steps are in {os.path.relpath(directory)}; to see them: graphdbg open {directory}")
