"""Restores the log of a rank from its Parquet files, to the byte."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy
from graphdbg.client.errors import USAGE, GraphdbgError

from .files import RUN_FILES, Files, open_files, whole_directory, whole_file
from .log import Found
from .opening import open_run
from .packed import Chunk
from .rank import Rank, outside
from .record import RECORD_SIZE
from .recovery import write_segment
from .segment import HEADER_SIZE, SegmentHeader

# Not copied as they are: unpacking writes them itself, or copies them by step.
_NOT_COPIED = ("log", "tensors", "ring.gdbr")
_COPIED_AT_ONCE = 8 << 20
_SEGMENT_RECORDS = ((64 << 20) - HEADER_SIZE) // RECORD_SIZE

# First and last, both inclusive and either None.
Steps = tuple[int | None, int | None]


@dataclass(frozen=True)
class _Copy:
    """A file that the restored run has as it is.

    Attributes:
        path: Relative to the run.
        size: In bytes.
        is_final: Whether nothing ever changes it.
    """

    path: str
    size: int
    is_final: bool


def unpack_run(
    path: str,
    to: Path | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    ranks: Collection[int] | None = None,
    steps: Steps = (None, None),
    share: bool = False,
) -> int:
    """Restores the logs of a run.

    Args:
        path: The run's directory or URL.
        to: A directory for the restored run, with all of its files and what is only in its log; by default the run
            itself.
        progress: Receives how many bytes of how many have been restored or copied.
        ranks: Only these; default: all.
        steps: First and last, both inclusive and either None: only the files that contain one of these. A file of
            statistics has up to 1,000 steps.
        share: Whether files of values, which never change, may be the same files as those of the run.

    Returns:
        The number of records written.

    Raises:
        GraphdbgError: There is no run or no such rank, or it is at a URL and `to` is missing.
        ValueError, OSError: As unpack_rank.
    """
    run = open_run(path)
    files = open_files(path)
    if to is None and files.local is None:
        raise GraphdbgError(f"{path} is a URL: name a directory for the unpacked run", USAGE)
    wanted = [run.rank(number) for number in (run.ranks if ranks is None else ranks)]
    copies = {rank.number: [] if to is None else list(_copies(files, rank.name, steps)) for rank in wanted}
    total = sum(copy.size for each in copies.values() for copy in each)
    total += sum(_count(rank, steps, to is None) for rank in wanted) * RECORD_SIZE
    written = done = 0

    def count_bytes(size: int) -> None:
        nonlocal done
        done += size
        progress(done, total)

    def count(rows: int) -> None:
        nonlocal written
        written += rows
        count_bytes(rows * RECORD_SIZE)

    if to is None:
        for rank in wanted:
            unpack_rank(rank, rank.log_directory, count, steps)
        return written
    with whole_directory(to):
        for rank in wanted:
            unpack_rank(rank, to / rank.name / "log", count, steps)
            for copy in copies[rank.number]:
                _copy(files, copy, to, share, count_bytes)
        for copy in _named(files, "", RUN_FILES):
            _copy(files, copy, to, False, lambda size: None)
    return written


def _count(rank: Rank, steps: Steps, in_place: bool) -> int:
    packed = sum(chunk.end - chunk.first for chunk in _chunks(rank, steps))
    return packed if in_place else packed + rank.unpacked_count


def _chunks(rank: Rank, steps: Steps) -> list[Chunk]:
    return [chunk for chunk in rank.packed.chunks if _overlaps(steps, chunk.first_step, chunk.last_step)]


def _overlaps(steps: Steps, first: int, last: int) -> bool:
    return (steps[0] is None or last >= steps[0]) and (steps[1] is None or first <= steps[1])


def _copies(files: Files, name: str, steps: Steps) -> Iterator[_Copy]:
    """The files of a rank, without those that contain no value of these steps; last the one that makes it a rank."""
    # 00000100.safetensors, 00000100-2.safetensors: of step 100.
    numbered = [(each, re.match(r"\d+", each)) for each in files.names(f"{name}/tensors")]
    saved = [each for each, step in numbered if step is None or _overlaps(steps, int(step[0]), int(step[0]))]
    yield from _named(files, f"{name}/tensors", saved)
    others = [each for each in files.names(name) if each not in _NOT_COPIED]
    yield from _named(files, name, sorted(others, key="rank.json".__eq__))


def _named(files: Files, directory: str, names: Collection[str]) -> Iterator[_Copy]:
    for name in names:
        path = f"{directory}/{name}" if directory else name
        size = files.size(path)
        if size is not None:
            yield _Copy(path, size, name.endswith(".safetensors"))


def _copy(files: Files, copy: _Copy, to: Path, share: bool, progress: Callable[[int], None]) -> None:
    target = to / copy.path
    if share and copy.is_final and files.local is not None and _linked(files.local / copy.path, target):
        progress(copy.size)
        return
    with whole_file(target) as stream:
        for start in range(0, copy.size, _COPIED_AT_ONCE):
            part = files.read(copy.path, start, min(_COPIED_AT_ONCE, copy.size - start))
            stream.write(part)
            progress(len(part))


def _linked(source: Path, target: Path) -> bool:
    """Makes a file appear in a second place, if both are on one file system."""
    if source.is_symlink():
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):
        os.link(source, target)
        return True
    return False


def unpack_rank(rank: Rank, directory: Path, progress: Callable[[int], None], steps: Steps = (None, None)) -> None:
    """Writes the records of a rank's chunks as segments, and in another directory those that only its log has.

    Args:
        rank: The rank.
        directory: The directory of its log, which keeps what it has, or of another one.
        progress: Receives the number of records of each segment that was written.
        steps: Only the chunks that contain one of these.

    Raises:
        ValueError: A file has a tensor that is not in the graph.
        OSError: A file cannot be read or written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    in_place = rank.log is not None and directory == rank.log_directory
    had = rank.log.ranges() if rank.log and in_place else []
    for chunk in _chunks(rank, steps):
        found = rank.packed.read(chunk, lambda: rank.nodes)
        new = outside(found.positions, had)
        _write(rank, directory, Found(found.positions[new], found.records[new]), progress)
    if rank.log and not in_place:
        packed = rank.packed.ranges()
        for found in rank.log.blocks():
            new = outside(found.positions, packed)
            _write(rank, directory, Found(found.positions[new], found.records[new]), progress)
    rank.refresh()


def _write(rank: Rank, directory: Path, found: Found, progress: Callable[[int], None]) -> None:
    if not len(found.positions):
        return
    for part in _consecutive(found):
        write_segment(directory, _header(rank, int(part.positions[0])), part.records)
        progress(len(part.records))


def _consecutive(found: Found) -> list[Found]:
    """Parts of consecutive positions, none larger than a segment."""
    gaps = numpy.flatnonzero(numpy.diff(found.positions) != 1) + 1
    parts: list[Found] = []
    for positions, records in zip(numpy.split(found.positions, gaps), numpy.split(found.records, gaps), strict=True):
        for start in range(0, len(positions), _SEGMENT_RECORDS):
            wanted = slice(start, start + _SEGMENT_RECORDS)
            parts.append(Found(positions[wanted], records[wanted]))
    return parts


def _header(rank: Rank, first: int) -> SegmentHeader:
    info = rank.info
    try:
        incarnation = bytes.fromhex(str(info.get("incarnation", "")))
    except ValueError:
        incarnation = b""
    started = info.get("started_unix_ns")
    world_size = info.get("world_size")
    return SegmentHeader(
        first,
        started if isinstance(started, int) and 0 <= started < 1 << 64 else 0,
        incarnation[:16],
        rank.number,
        world_size if isinstance(world_size, int) and 0 <= world_size < 1 << 32 else 0,
    )
