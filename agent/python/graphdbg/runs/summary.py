"""Finds runs, and what `graphdbg runs` lists of each."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphdbg.client.errors import USAGE, GraphdbgError

from .errors import MindSporeDumpError
from .files import open_files
from .opening import open_run
from .rank import is_mindspore_dump, rank_numbers
from .run import Run

_MAX_FINDINGS = 1 << 30


@dataclass(frozen=True)
class RunSummary:
    """A run in a list.

    Attributes:
        id, path: Its id, and its directory or URL.
        program: The program that it recorded; "" if that is not known.
        ranks: The number of ranks.
        steps: The number of complete steps.
        last_step: The last of them; 0 if there is none.
        bytes: The size of all its files.
        ended: How it ended, as Run.ended; None while it runs.
        findings: The number of findings of rules.
        damages: What cannot be read: a line for each file, with its offset.
    """

    id: str
    path: str
    program: str
    ranks: int
    steps: int
    last_step: int
    bytes: int
    ended: str | None
    findings: int
    damages: tuple[str, ...]


def summarize(run: Run) -> RunSummary:
    """Reads all of a run, so that damage anywhere in its records is found."""
    files = open_files(run.path)
    steps = run.steps()
    info = run.info or run.rank(run.ranks[0]).info
    return RunSummary(
        run.id,
        run.path,
        str(info.get("program", "")),
        len(run.ranks),
        len(steps),
        steps[-1] if steps else 0,
        files.total_size(),
        run.ended,
        _findings(files),
        tuple(map(str, run.damages)),
    )


def find_run(name: str) -> str:
    """The path or URL of a run: as given, or below the directory of runs that GRAPHDBG_RECORD names, or ./runs."""
    if "://" in name or Path(name).is_dir():
        return name
    for directory in (os.environ.get("GRAPHDBG_RECORD"), "runs"):
        if directory and "/" not in name and (Path(directory) / name).is_dir():
            return str(Path(directory) / name)
    return name


def find_runs(place: str) -> list[str]:
    """The runs in a directory or at a URL, or that run itself.

    Raises:
        GraphdbgError: There is no such directory.
        MindSporeDumpError: The directory is a dump of MindSpore. Those in it are passed over.
    """
    files = open_files(place)
    if rank_numbers(files):
        return [place]
    if files.local is not None and not files.local.is_dir():
        raise GraphdbgError(f"no directory {place}; GRAPHDBG_RECORD names the one that jobs record to", USAGE)
    if is_mindspore_dump(files):
        raise MindSporeDumpError(place)
    joined = [f"{place.rstrip('/')}/{name}" for name in files.names() if not re.match(r"\.", name)]
    return [each for each in joined if rank_numbers(open_files(each))]


def open_all(place: str) -> list[Run]:
    """Opens the runs that `find_runs` finds."""
    return [open_run(each) for each in find_runs(place)]


def _findings(files: Any) -> int:
    size = files.size("findings.jsonl")
    return 0 if not size or size > _MAX_FINDINGS else int(files.read("findings.jsonl").count(b"\n"))
