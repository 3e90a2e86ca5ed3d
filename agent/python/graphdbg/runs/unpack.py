"""Restores the log of a rank from its Parquet files, to the byte."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

import numpy
from graphdbg.client.errors import USAGE, GraphdbgError

from .files import Files, open_files, whole_file
from .log import Found
from .opening import open_run
from .packed import Chunk
from .rank import Rank, outside
from .recovery import write_segment
from .segment import HEADER_SIZE, SegmentHeader

_RUN_FILES = ("run.json", "findings.jsonl")
_COPIED_AT_ONCE = 8 << 20
_SEGMENT_RECORDS = ((64 << 20) - HEADER_SIZE) // 160


# First and last, both inclusive and either None.
Steps = tuple[int | None, int | None]


def unpack_run(
    path: str,
    to: Path | None = None,
    progress: Callable[[int, int], None] = lambda rows, total: None,
    ranks: Collection[int] | None = None,
    steps: Steps = (None, None),
) -> int:
    """Restores the logs of a run.

    Args:
        path: The run's directory or URL.
        to: A directory for the restored run, with all of its files; by default the run itself.
        progress: Receives how many records of how many have been restored.
        ranks: Only these; default: all.
        steps: First and last, both inclusive and either None: only the files that contain one of these. A file of
            statistics has up to 1,000 steps.

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
    root = to or Path(files.name)
    written = 0
    wanted = [run.rank(number) for number in (run.ranks if ranks is None else ranks)]
    total = sum(chunk.end - chunk.first for rank in wanted for chunk in _chunks(rank, steps))

    def count(rows: int) -> None:
        nonlocal written
        written += rows
        progress(written, total)

    for rank in wanted:
        if to is not None:
            _copy_rank(files, rank.name, to, steps)
        unpack_rank(rank, root / rank.name / "log", count, steps)
    if to is not None:
        _copy_names(files, "", to, _RUN_FILES)
    return written


def _chunks(rank: Rank, steps: Steps) -> list[Chunk]:
    return [chunk for chunk in rank.packed.chunks if _overlaps(steps, chunk.first_step, chunk.last_step)]


def _overlaps(steps: Steps, first: int, last: int) -> bool:
    return (steps[0] is None or last >= steps[0]) and (steps[1] is None or first <= steps[1])


def _copy_rank(files: Files, name: str, to: Path, steps: Steps) -> None:
    _copy_names(files, name, to, [each for each in files.names(name) if each not in ("log", "tensors", "ring.gdbr")])
    # 00000100.safetensors, 00000100-2.safetensors: of step 100.
    numbered = [(each, re.match(r"\d+", each)) for each in files.names(f"{name}/tensors")]
    saved = [each for each, step in numbered if step is None or _overlaps(steps, int(step[0]), int(step[0]))]
    _copy_names(files, f"{name}/tensors", to, saved)


def _copy_names(files: Files, directory: str, to: Path, names: Iterable[str]) -> None:
    for name in names:
        path = f"{directory}/{name}" if directory else name
        size = files.size(path)
        if size is None:
            continue
        with whole_file(to / path) as stream:
            for start in range(0, size, _COPIED_AT_ONCE):
                stream.write(files.read(path, start, _COPIED_AT_ONCE))


def unpack_rank(rank: Rank, directory: Path, progress: Callable[[int], None], steps: Steps = (None, None)) -> None:
    """Writes the records of a rank's chunks that the log does not have as segments.

    Args:
        rank: The rank.
        directory: The directory of its log.
        progress: Receives the number of records of each segment that was written.
        steps: Only the chunks that contain one of these.

    Raises:
        ValueError: A file has a tensor that is not in the graph.
        OSError: A file cannot be read or written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    had = rank.log.ranges() if rank.log else []
    for chunk in _chunks(rank, steps):
        found = rank.packed.read(chunk, lambda: rank.nodes)
        new = outside(found.positions, had)
        for part in _consecutive(Found(found.positions[new], found.records[new])):
            write_segment(directory, _header(rank, int(part.positions[0])), part.records)
            progress(len(part.records))
    rank.refresh()


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
