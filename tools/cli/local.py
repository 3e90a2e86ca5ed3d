"""Debugs a job from Python, as `graphdbg run` does from a shell."""

from __future__ import annotations

from collections.abc import Sequence

from .client import Json
from .debug_run import OnHit, RunOptions, debug


def run_local(
    command: Sequence[str],
    *,
    steps: int | None = None,
    break_on: Sequence[str] = (),
    on_hit: OnHit = "terminate",
    environment: dict[str, str] | None = None,
) -> Json:
    """Runs a command under the debugger until it ends. The job starts without waiting.

    Args:
        command: The program and its arguments.
        steps: Terminates the job after this number of steps.
        break_on: Conditions to watch on all tensors, each in the form of `--break-on`.
        on_hit: What to do at a hit: "pause", "continue" or "terminate".
        environment: Variables to add to the job's environment.

    Returns:
        The result object, as `graphdbg run --result` writes it. A job that fails is
        not an error: its result has the status "failed".

    Raises:
        CliError: The server cannot be started, a condition is unknown, or the command
            cannot be run.
    """
    return debug(
        command, RunOptions(wait=False, steps=steps, break_on=break_on, on_hit=on_hit, environment=environment or {})
    )
