"""A segment of a log: a header of 64 bytes, then records of consecutive positions."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy

from .crc32c import record_crcs
from .errors import Damage
from .files import regular_size
from .record import BEGIN_KIND, END_KIND, RECORD, RECORD_SIZE, Array

MAGIC = b"GDBGLOG\x01"
HEADER = struct.Struct("<8sIIQQ16sII")
HEADER_SIZE = 64
SUFFIX, OPEN_SUFFIX = ".gdbl", ".gdbl.open"
# Records that share one entry of the index of steps; a multiple of the CRC's blocks.
ZONE = 4096
# So that they stay in the cache while they are looked at, in memory that is used again.
READ_AT_ONCE = 2 * ZONE


@dataclass(frozen=True)
class SegmentHeader:
    """Attributes: the first position, Unix ns of its creation, and the process with its rank."""

    first: int
    unix_ns: int
    incarnation: bytes
    rank: int
    world_size: int

    def encode(self) -> bytes:
        return HEADER.pack(
            MAGIC, HEADER_SIZE, RECORD_SIZE, self.first, self.unix_ns, self.incarnation, self.rank, self.world_size
        ).ljust(HEADER_SIZE, b"\0")


def file_name(first: int) -> str:
    return f"{first:020d}{SUFFIX}"


class Segment:
    """A segment file, which may still grow while its name ends with `.open`.

    Attributes:
        first: The position of the first record.
        count: The number of records whose CRC holds, up to the first one whose does not.
        damage: Why the rest cannot be read, if there is any.
        lowest, highest: The least and the greatest step of each ZONE records, u64.
        marks: The begins and ends of steps, which need not be looked for again.
        mark_numbers: Their numbers in the file.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.first = 0
        self.header: SegmentHeader | None = None
        self.count = 0
        self.damage: Damage | None = None
        self.lowest = numpy.empty(0, "u8")
        self.highest = numpy.empty(0, "u8")
        self.marks = numpy.empty(0, RECORD)
        self.mark_numbers = numpy.empty(0, "i8")
        self._size = 0

    @property
    def end(self) -> int:
        """The position behind the last record."""
        return self.first + self.count

    @property
    def is_open(self) -> bool:
        return self.file.name.endswith(OPEN_SUFFIX)

    def refresh(self) -> None:
        """Verifies what was added since the last call. A file that has disappeared keeps its former state."""
        try:
            size = regular_size(self.file)
            if size == self._size and self.header is not None:
                return
            if self.header is None and not self._read_header():
                return
            whole = max(0, size - HEADER_SIZE) // RECORD_SIZE
            self._verify(whole)
        except FileNotFoundError:
            return
        except OSError as error:
            self.damage = Damage(str(self.file), 0, str(error))
            return
        self._size = size
        self._judge(size, whole)

    def read(self, start: int, stop: int) -> Array:
        """Reads records by their number in the file, of which [start, stop) should exist; shape (stop - start,).

        Files are read, not mapped: one that is cut short meanwhile would end the process with SIGBUS.
        """
        try:
            return self._read(start, stop)
        except FileNotFoundError:
            if not self.is_open:
                raise
            # It was closed since.
            self.file = self.file.with_suffix("")
            return self._read(start, stop)

    def _read(self, start: int, stop: int) -> Array:
        return numpy.fromfile(self.file, RECORD, max(0, stop - start), offset=HEADER_SIZE + start * RECORD_SIZE)

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, Array]]:
        """The verified records with the position of the first of each block."""
        stop = self.count if stop is None else stop
        for begin in range(start, stop, READ_AT_ONCE):
            yield self.first + begin, self.read(begin, min(begin + READ_AT_ONCE, stop))

    def _read_header(self) -> bool:
        with self.file.open("rb") as stream:
            content = stream.read(HEADER_SIZE)
        if len(content) < HEADER_SIZE:
            # A segment that was killed at its creation has no records.
            self.damage = None if self.is_open else Damage(str(self.file), len(content), "the header is cut short")
            return False
        magic, header_size, record_size, first, unix_ns, incarnation, rank, world_size = HEADER.unpack_from(content)
        problem = _header_problem(magic, header_size, record_size)
        if problem:
            self.damage = Damage(str(self.file), 0, problem)
            return False
        self.first = first
        self.header = SegmentHeader(first, unix_ns, incarnation, rank, world_size)
        return True

    def _verify(self, whole: int) -> None:
        limit = min(whole, 2**64 - self.first)
        # The last zone may have been incomplete, so it is read again.
        start = self.count // ZONE * ZONE
        lowest, highest = [self.lowest[: start // ZONE]], [self.highest[: start // ZONE]]
        old = self.mark_numbers < start
        numbers, marks = [self.mark_numbers[old]], [self.marks[old]]
        good = start
        while good == start and start < limit:
            block = self.read(start, min(start + READ_AT_ONCE, limit))
            wrong = numpy.flatnonzero(record_crcs(block, self.first + start) != block["crc"])
            valid = block[: int(wrong[0])] if len(wrong) else block
            found = numpy.flatnonzero((valid["kind"] == BEGIN_KIND) | (valid["kind"] == END_KIND))
            numbers.append(good + found)
            marks.append(valid[found])
            good += len(valid)
            start += READ_AT_ONCE
            if len(valid):
                edges = numpy.arange(0, len(valid), ZONE)
                lowest.append(numpy.minimum.reduceat(valid["step"], edges))
                highest.append(numpy.maximum.reduceat(valid["step"], edges))
        self.count = good
        self.lowest, self.highest = numpy.concatenate(lowest), numpy.concatenate(highest)
        self.mark_numbers, self.marks = numpy.concatenate(numbers), numpy.concatenate(marks)

    def _judge(self, size: int, whole: int) -> None:
        self.damage = None
        offset = HEADER_SIZE + self.count * RECORD_SIZE
        if self.count < whole:
            self.damage = Damage(str(self.file), offset, f"the checksum of record {self.end} does not match")
        elif offset < size and not self.is_open:
            self.damage = Damage(str(self.file), offset, "the last record is cut short")


def _header_problem(magic: bytes, header_size: int, record_size: int) -> str:
    if magic[:7] != MAGIC[:7]:
        return "this is not a segment of a log"
    if magic != MAGIC:
        return f"version {magic[7]} of the format is later than 1"
    if (header_size, record_size) != (HEADER_SIZE, RECORD_SIZE):
        return (
            f"a header of {header_size} bytes and records of {record_size} bytes, not {HEADER_SIZE} and {RECORD_SIZE}"
        )
    return ""


def segment_files(directory: Path) -> dict[str, Path]:
    """The segments of a log by the number in their names; closed ones before open ones of the same number."""
    found: dict[str, Path] = {}
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return {}
    for name in names:
        number, _, suffix = name.partition(".")
        if number.isdigit() and f".{suffix}" in (SUFFIX, OPEN_SUFFIX):
            found.setdefault(number, directory / name)
    return dict(sorted(found.items(), key=lambda item: int(item[0])))
