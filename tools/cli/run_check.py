"""Checks conditions over a recorded run, with a server of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .break_on import as_list, conditions_of
from .client import Client, Json
from .errors import CliError
from .fetched_run import run_with_log
from .served_run import served_run

if TYPE_CHECKING:
    from graphdbg.runs import Run

_POLL_SECONDS = 0.1

# Receives a condition's id, its hits so far, and how many steps of how many are checked.
Progress = Callable[[str, int, int, int], None]


def run_to_check(
    run: Run, ranks: Sequence[int] | None, steps: tuple[int | None, int | None], progress: Callable[[int, int], None]
) -> Path:
    """A directory with what a run recorded in these steps: its own, or that of a copy, as run_with_log."""
    first, last = steps
    # Conditions on changes need the values of the step before.
    return run_with_log(run, ranks, (None if first is None else max(0, first - 1), last), progress)


def check_run(
    directory: Path,
    conditions: str | Sequence[str],
    ranks: Sequence[int] | None,
    steps: tuple[int | None, int | None],
    progress: Progress,
) -> list[Json]:
    """Checks each condition, one after the other.

    Args:
        directory: Of the run.
        conditions: As for `--break-on`.
        ranks: Only these; None: all.
        steps: First and last, both inclusive and either None.

    Returns:
        For each the check of the HTTP interface, with its condition.

    Raises:
        CliError: There is no run, or the server refuses a condition.
    """
    limits: Json = {"ranks": list(ranks)} if ranks else {}
    bounds = {name: step for name, step in zip(("from", "to"), steps, strict=True) if step is not None}
    if bounds:
        limits["steps"] = bounds
    with served_run(directory) as (client, run):
        return [
            _check(client, f"{run}/checks", {"watchpoint": {"condition": condition}, **limits}, progress)
            for condition in conditions_of(as_list(conditions), client)
        ]


def _check(client: Client, path: str, body: Json, progress: Progress) -> Json:
    condition = body["watchpoint"]["condition"]
    place = f"{path}/{client.post(path, body)['check_id']}"
    while (check := client.get(place))["state"] == "running":
        progress(condition["id"], check["hit_count"], check["done"], check["total"])
        time.sleep(_POLL_SECONDS)
    # The server keeps a limited number.
    client.delete(place)
    if check["state"] != "done":
        raise CliError(f"cannot check {condition['id']}: {check['error']}")
    return {"condition": condition, **check}
