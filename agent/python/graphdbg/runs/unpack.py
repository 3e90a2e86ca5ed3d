"""Restores the log of a rank from its Parquet files, to the byte."""

from __future__ import annotations

from pathlib import Path

import numpy

from .log import Found
from .rank import Rank, outside
from .recovery import write_segment
from .segment import HEADER_SIZE, SegmentHeader

_SEGMENT_RECORDS = ((64 << 20) - HEADER_SIZE) // 160


def unpack_rank(rank: Rank, directory: Path) -> int:
    """Writes the records of a rank's chunks that the log does not have as segments.

    Args:
        rank: The rank.
        directory: The directory of its log.

    Returns:
        The number of records written.

    Raises:
        ValueError: A file has a tensor that is not in the graph.
        OSError: A file cannot be read or written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    had = rank.log.ranges() if rank.log else []
    written = 0
    for chunk in rank.packed.chunks:
        found = rank.packed.read(chunk, rank.nodes)
        new = outside(found.positions, had)
        for part in _consecutive(Found(found.positions[new], found.records[new])):
            write_segment(directory, _header(rank, int(part.positions[0])), part.records)
            written += len(part.records)
    rank.refresh()
    return written


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
