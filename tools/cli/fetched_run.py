"""Runs at URLs, such as s3://bucket/runs/abc, in a cache of this machine."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from .errors import CliError

MAX_BYTES = 10 << 30


def fetched_run(
    url: str,
    ranks: Sequence[int] | None,
    steps: tuple[int | None, int | None],
    progress: Callable[[int, int], None],
) -> Path:
    """A copy of a packed run. One that has ended is fetched once; the copies that were used least recently go.

    Args:
        ranks, steps: As for unpack_run: only these are fetched.
        progress: Receives how many records of how many are there.

    Raises:
        GraphdbgError: There is no run, or no such rank.
        CliError: It cannot be read, or not be written here.
    """
    from graphdbg.runs import open_run
    from graphdbg.runs.unpack import unpack_run

    name = url.rstrip("/").rpartition("/")[2]
    wanted = json.dumps([url.rstrip("/"), sorted(ranks or ()), steps])
    place = _cache() / hashlib.sha256(wanted.encode()).hexdigest()[:16]
    if (place / name).is_dir() and open_run(place / name).ended is not None:
        os.utime(place)
        return place / name
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=".part-") as scratch:
            made = Path(scratch) / "made"
            unpack_run(url, made / name, progress, ranks, steps)
            shutil.rmtree(place, ignore_errors=True)
            made.rename(place)
    except (OSError, ValueError) as error:
        raise CliError(f"cannot fetch {url}: {error}", 1) from None
    _forget_oldest(place)
    return place / name


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "graphdbg" / "fetched"


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
    return sum(file.lstat().st_size for file in directory.rglob("*"))
