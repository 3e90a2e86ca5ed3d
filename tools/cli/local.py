"""Debugs a job from Python, as `graphdbg run` does from a shell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .break_on import as_list
from .debug_run import OnHit, RunOptions, debug
from .errors import USAGE, CliError
from .function_run import FunctionOptions, FunctionRun
from .run_result import RunResult


def run_local(
    job: Sequence[str] | Callable[..., Any],
    *args: Any,
    steps: int | None = None,
    break_on: str | Sequence[str] = (),
    on_hit: OnHit = "terminate",
    environment: dict[str, str] | None = None,
    limit_batches: int | None = None,
    keep_tensors: int = 16,
    page: bool = False,
    record: str | Path | None = None,
) -> RunResult:
    """Runs a function or a command under the debugger until it ends. It starts without waiting.

    A function runs in this process, on the main thread, and may be debugged again afterwards.
    A command runs in a process of its own.

    Args:
        job: The function, or the program and its arguments.
        args: The arguments of the function.
        steps: Terminates the job after this number of steps.
        break_on: Conditions to watch on all tensors, in the form of `--break-on`, such as "nan,inf".
        on_hit: What to do at a hit: "pause", "continue" or "terminate".
        environment: Variables to add to the command's environment.
        limit_batches: Ends each iteration over a torch DataLoader after this number of batches.
            For functions only.
        keep_tensors: The number of hits whose tensors are kept for `result.hits[i].tensor()`, of
            256 MiB in all. For functions only. With on_hit="continue" the function stops shortly at
            each of these hits.
        page: Prints the page's address at the start. For functions only.
        record: Records the job in a new directory below this one, which is `result.run`.

    Returns:
        The result object, as `graphdbg run --result` writes it. A job that fails is not an error:
        its result has the status "failed", and `result.error` is the function's exception.

    Raises:
        GraphdbgError: The server cannot be started, a condition is unknown, or the command or
            function cannot be run.
        KeyboardInterrupt: The function was interrupted.
    """
    conditions = as_list(break_on)
    if not callable(job):
        if args or limit_batches is not None:
            raise CliError("run_local: arguments and limit_batches are for functions, not for commands", USAGE)
        options = RunOptions(
            wait=False, steps=steps, break_on=conditions, on_hit=on_hit, environment=environment or {}, record=record
        )
        return RunResult(debug(job, options))
    if environment:
        raise CliError("run_local: environment is for commands; a function runs in this process", USAGE)
    run = FunctionRun(
        _name_of(job),
        FunctionOptions(
            steps=steps,
            break_on=conditions,
            on_hit=on_hit,
            limit_batches=limit_batches,
            keep_tensors=keep_tensors,
            page=page,
            record=record,
        ),
    )
    try:
        return run.run(lambda: job(*args))
    finally:
        run.close()


def _name_of(function: Callable[..., Any]) -> str:
    name = str(getattr(function, "__name__", type(function).__name__))
    return name if name.isidentifier() else "function"
