"""Copies of runs that have their whole log, as the server reads it, in a cache of this machine.

The server does not read Parquet. Runs at URLs, such as s3://bucket/runs/abc, and runs whose log
has been packed are unpacked here.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graphdbg.client.errors import GraphdbgError

from .client import Json
from .errors import CliError
from .scratch import scratch_directory

if TYPE_CHECKING:
    from graphdbg.runs import Run

MAX_BYTES = 10 << 30
_UNFINISHED = ".part-"
# Beside a copy: what was copied.
_SOURCE = ".source.json"
# An unfinished copy that is younger may not be locked yet.
_LOCKED_AFTER_SECONDS = 60

Steps = tuple[int | None, int | None]
# Receives how many bytes of how many are there.
Progress = Callable[[int, int], None]


def run_with_log(run: Run, ranks: Sequence[int] | None, steps: Steps, progress: Progress) -> Path:
    """A directory with a run's whole log: its own, or that of a copy.

    Args:
        run: The run.
        ranks, steps: As for fetched_run.
        progress: Called if it is copied.

    Raises:
        GraphdbgError: As fetched_run.
    """
    directory: Path | None = run.directory_with_log
    return directory or fetched_run(run.path, ranks, steps, progress)


def fetched_run(place: str, ranks: Sequence[int] | None, steps: Steps, progress: Progress) -> Path:
    """A copy of a run with its whole log. The copies that were used least recently are removed.

    One that had ended is copied once, and its copy serves as long as the run cannot be reached. One that is still
    recorded is copied as far as it is there.

    Args:
        place: The run's directory or URL.
        ranks, steps: As for unpack_run: only these are fetched.
        progress: Receives how many bytes of how many are there.

    Raises:
        GraphdbgError: There is no run, or no such rank.
        CliError: It cannot be read, or not be written here.
    """
    from graphdbg.runs.unpack import unpack_run

    place = place.rstrip("/") if "://" in place else str(Path(place).resolve())
    name = place.rpartition("/")[2]
    wanted = json.dumps([place, sorted(ranks or ()), steps])
    entry = _cache() / hashlib.sha256(wanted.encode()).hexdigest()[:16]
    source = _describe(place, ranks)
    if (entry / name).is_dir() and _is_copy_of(entry, source):
        os.utime(entry)
        return entry / name
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        with scratch_directory(_UNFINISHED, entry.parent) as scratch, _locked(scratch):
            made = scratch / "made"
            unpack_run(place, made / name, progress, ranks, steps, share=True)
            (made / _SOURCE).write_text(json.dumps(source))
            # Unless another process has made the same copy meanwhile, which may be in use.
            if not _is_copy_of(entry, source):
                shutil.rmtree(entry, ignore_errors=True)
                made.rename(entry)
        _forget_unfinished(entry.parent)
        _forget_oldest(entry)
    except (OSError, ValueError) as error:
        raise CliError(f"cannot fetch {place}: {error}", 1) from None
    return entry / name


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "graphdbg" / "fetched"


def _describe(place: str, ranks: Sequence[int] | None) -> Json | None:
    """Facts that distinguish a run from an earlier one at the same place; None if it cannot be reached."""
    from graphdbg.runs import open_run

    try:
        run = open_run(place)
        found = [run.rank(number) for number in ranks or run.ranks]
        return {
            "started": run.info.get("started_unix_ns"),
            "incarnations": {str(rank.number): rank.info.get("incarnation") for rank in found},
            "ended": all(rank.ended is not None for rank in found),
        }
    except (GraphdbgError, OSError, ValueError):
        return None


def _is_copy_of(entry: Path, source: Json | None) -> bool:
    """Whether an entry of the cache is all of a run, as far as that can be known."""
    try:
        copied = json.loads((entry / _SOURCE).read_text())
    except (OSError, ValueError):
        return False
    return bool(copied and copied["ended"]) and source in (None, copied)


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _forget_unfinished(cache: Path) -> None:
    """Removes unfinished copies of processes that have died."""
    for each in cache.glob(f"{_UNFINISHED}*"):
        with contextlib.suppress(OSError):
            if time.time() - each.stat().st_mtime < _LOCKED_AFTER_SECONDS:
                continue
            with _locked(each):
                shutil.rmtree(each, ignore_errors=True)


def _forget_oldest(newest: Path) -> None:
    """Removes copies, those that were used least recently first, until all together are small enough."""
    others = [each for each in newest.parent.iterdir() if each != newest and not each.name.startswith(".")]
    others.sort(key=lambda each: each.stat().st_mtime)
    size = _size(newest) + sum(map(_size, others))
    for each in others:
        if size <= MAX_BYTES:
            return
        size -= _size(each)
        shutil.rmtree(each, ignore_errors=True)


def _size(directory: Path) -> int:
    """The bytes that it takes, without files that it shares with a run."""
    found = [file.lstat() for file in directory.rglob("*")]
    return sum(each.st_size for each in found if each.st_nlink == 1)
