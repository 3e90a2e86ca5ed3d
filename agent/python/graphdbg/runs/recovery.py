"""Finishes what a process that died left behind, once the ring's lock shows that it is gone.

Readers do not need this. It moves what only the ring has into the log, so that the ring can go.
"""

from __future__ import annotations

from pathlib import Path

import numpy

from . import ring
from .crc32c import record_crcs
from .files import whole_file
from .last_ops import NAME, SUFFIX, check_incarnation, content_of
from .log import Log
from .rank import Rank, outside
from .record import HOLE_KIND, RECORD, Array
from .segment import SegmentHeader, file_name


def recover(rank: Rank) -> bool:
    """Writes what only the ring of a dead process has into last segments, and removes the ring.

    Positions that were never committed become holes.

    Returns:
        Whether the rank has ended; False if its process is alive, and nothing was done.

    Raises:
        OSError: A file cannot be written.
    """
    file = rank.ring_file
    if file is None or not file.exists() or rank.log is None:
        return rank.ended is not None
    if rank.ring_incarnation is not None and rank.log.recovered.header is None:
        # It is not this rank's, whose process may be on another machine.
        return rank.ended is not None
    try:
        with ring.Lock(file):
            rank.refresh()
            _write_segments(rank.log, rank.log_directory)
            rank.refresh()
            _keep_last_ops(rank, file)
            if not len(rank.log.recovered.positions) and rank.log.recovered.damage is None:
                file.unlink()
            rank.refresh()
    except (BlockingIOError, PermissionError):
        return False
    return True


def _keep_last_ops(rank: Rank, ring_file: Path) -> None:
    """Copies what the threads did last into the rank's directory, if the ring is elsewhere."""
    source, target = Path(f"{ring_file}{SUFFIX}"), rank.log_directory.parent / NAME
    if source == target or not source.exists():
        return
    content = content_of(source)
    try:
        check_incarnation(content, rank)
    except ValueError:
        return
    with whole_file(target) as stream:
        stream.write(content)
    source.unlink()


def _write_segments(log: Log, directory: Path) -> None:
    held = log.recovered
    if held.header is None or not len(held.positions):
        return
    directory.mkdir(exist_ok=True)
    first = int(held.positions[0])
    positions = numpy.arange(first, max(held.header.head, int(held.positions[-1]) + 1), dtype="<u8")
    records = numpy.zeros(len(positions), RECORD)
    records["kind"] = HOLE_KIND
    records[(held.positions - numpy.uint64(first)).astype(numpy.intp)] = held.records
    missing = outside(positions, log.ranges())
    for begin, end in _runs(missing):
        part = records[begin:end]
        part["crc"] = record_crcs(part, first + begin)
        header = SegmentHeader(
            first + begin, held.header.unix_ns, held.header.incarnation, held.header.rank, held.header.world_size
        )
        write_segment(directory, header, part)


def write_segment(directory: Path, header: SegmentHeader, records: Array) -> Path:
    """Writes a segment, atomically. Raises OSError."""
    file = directory / file_name(header.first)
    with whole_file(file) as stream:
        stream.write(header.encode())
        stream.write(numpy.ascontiguousarray(records).view("u1").data)
    return file


def _runs(wanted: Array) -> list[tuple[int, int]]:
    edges = numpy.flatnonzero(numpy.diff(wanted, prepend=False, append=False)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))
