"""Debugging a job from Python: the same as `graphdbg run`."""

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
    """Runs `command` under the debugger to its end and returns the result object.

    The job starts at once. `break_on` names conditions that are watched on
    every tensor, each as `--break-on` takes them; `on_hit` says what a hit does; `environment` is added to the
    job's. Raises CliError if there is no server to be had or a condition is
    unknown; a job that fails is no error, its result says so.
    """
    return debug(
        command, RunOptions(wait=False, steps=steps, break_on=break_on, on_hit=on_hit, environment=environment or {})
    )
