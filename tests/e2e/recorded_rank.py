"""Reads what a rank has recorded, as proto/docs/run-format.md describes it, with nothing but NumPy."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy

Json = dict[str, Any]
Records = Any

STATISTICS, CHANGE, BEGIN, END, HIT = 1, 2, 3, 4, 7
TRAIN, EVAL, PREDICT = 1, 2, 3
COUNTS = ("count", "nan_count", "pos_inf_count", "neg_inf_count", "zero_count", "negative_count", "positive_count")
MEASURES = ("min", "max", "mean", "abs_mean", "abs_max", "variance", "l1", "l2", "grad_scale")
RECORD = numpy.dtype(
    [("crc", "<u4"), ("kind", "<u2"), ("flags", "<u2"), ("step", "<u8"), ("node", "<u4"), ("slot", "<u2")]
    + [("dtype", "u1"), ("mode", "u1"), ("exec_order", "<u4"), ("iteration", "<u2"), ("pass", "<u2")]
    + [(name, "<u8") for name in COUNTS]
    + [(name, "<f8") for name in MEASURES]
)
# The same bytes as the fields of kinds 3 and 4.
MARK = numpy.dtype(
    {
        "names": ["step", "mode", "pass", "mode_step", "records", "records_dropped", "reason"],
        "formats": ["<u8", "u1", "<u2", "<u8", "<u8", "<u8", "<u4"],
        "offsets": [8, 23, 30, 48, 56, 64, 96],
        "itemsize": 160,
    }
)
RING_HEADER, SEGMENT_HEADER, MESSAGES_HEADER = 4096, 64, 16


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


_TABLE = _crc_table()


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def is_at(position: int, record: bytes) -> bool:
    """Whether the record is committed and belongs to the position."""
    (crc,) = struct.unpack_from("<I", record)
    return crc == (crc32c(struct.pack("<Q", position) + record[4:]) or 1)


class RecordedRank:
    """A rank of a run.

    Attributes:
        description: rank.json.
        records: The records in order of their positions.
        from_ring: How many of them were in the ring only.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.description: Json = json.loads((directory / "rank.json").read_text())
        found: dict[int, bytes] = {}
        for segment in sorted((directory / "log").iterdir()):
            found |= _segment(segment.read_bytes())
        in_log = len(found)
        ring = self.ring_path()
        if ring is not None and ring.exists():
            found |= _ring(ring.read_bytes(), found)
        self.from_ring = len(found) - in_log
        self.positions = sorted(found)
        self.records: Records = numpy.frombuffer(b"".join(found[at] for at in self.positions), RECORD)

    def ring_path(self) -> Path | None:
        ring = self.description["ring"]
        return self.directory / ring if ring else None

    def of_kind(self, kind: int) -> Records:
        return self.records[self.records["kind"] == kind]

    def measured(self) -> Records:
        """Records with results computed from tensors: statistics and changes."""
        return self.records[(self.records["kind"] == STATISTICS) | (self.records["kind"] == CHANGE)]

    def marks(self, kind: int) -> Records:
        """The beginnings or ends of steps and passes."""
        return self.of_kind(kind).copy().view(MARK)

    def collection(self, name: str) -> set[int]:
        """The nodes that a collection has selected."""
        lines = [json.loads(line) for line in (self.directory / "collections.jsonl").read_text().splitlines()]
        return {node for line in lines if line["collection"] == name for node, _ in line["tensors"]}

    def values(self, node: int) -> Records:
        """The statistics of a node's first output, in order."""
        records = self.of_kind(STATISTICS)
        return records[(records["node"] == node) & (records["slot"] == 0)]


def _segment(file: bytes) -> dict[int, bytes]:
    if file[:8] != b"GDBGLOG\x01":
        return {}
    (position,) = struct.unpack_from("<Q", file, 16)
    found = {}
    for at in range(SEGMENT_HEADER, len(file) - 159, 160):
        record = file[at : at + 160]
        if not is_at(position, record):
            break
        found[position] = record
        position += 1
    return found


def _ring(file: bytes, known: dict[int, bytes]) -> dict[int, bytes]:
    assert file[:8] == b"GDBGRNG\x01"
    (capacity,) = struct.unpack_from("<Q", file, 16)
    (head,) = struct.unpack_from("<Q", file, 128)
    found = {}
    for position in range(max(0, head - capacity), head):
        at = RING_HEADER + position % capacity * 160
        record = file[at : at + 160]
        if position not in known and is_at(position, record):
            found[position] = record
    return found


def messages(file: Path) -> list[bytes]:
    """The messages of graph.gdbm or hits.gdbm."""
    data = file.read_bytes()
    found = []
    at = MESSAGES_HEADER
    while at + 8 <= len(data):
        size, crc = struct.unpack_from("<II", data, at)
        message = data[at + 8 : at + 8 + size]
        if size == 0 or len(message) < size or crc32c(message) != crc:
            break
        found.append(message)
        at += 8 + size
    return found


def only_run(runs: Path) -> Path:
    (run,) = [entry for entry in runs.iterdir() if (entry / "run.json").exists()]
    return run
