"""One rank of a run: who it is, its graph, hits and steps, and its records from log, ring and Parquet."""

from __future__ import annotations

import collections
import itertools
import json
import os
import re
import socket
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy

from . import ring
from .errors import Damage
from .files import Files
from .graph import NodeTable, split_tensor
from .last_ops import LastOp, read_last_ops
from .log import Found, Log, Selection
from .messages import GRAPH_UPDATES, HITS, USER_CHANGES, Messages
from .packages import MissingPackageError
from .packed import Chunk, Packed
from .protobuf import DecodeError, Values, decode
from .record import (
    BEGIN_KIND,
    CHANGE_KIND,
    END_KIND,
    RECORD_SIZE,
    SAVED_KIND,
    STATISTICS_KIND,
    Array,
    tensor_keys,
)
from .saved import read_saved
from .schema import GRAPH_UPDATE, HIT, USER_CHANGE, Fields
from .segment import HEADER_SIZE, segment_files
from .steps import StepIndex

MAX_JSON = 16 << 20
MAX_RANKS = 65536
_MAX_MESSAGES = 1 << 30
_USER_CHANGES_FILE = "user-changes.gdbm"
LOST = "lost"


def directory(rank: int) -> str:
    return f"rank-{rank:05d}"


def rank_numbers(files: Files) -> list[int]:
    """The ranks that have a directory."""
    found = [re.fullmatch(r"rank-(\d{5})", name) for name in files.names()]
    return [int(match[1]) for match in found if match and int(match[1]) < MAX_RANKS]


def is_mindspore_dump(files: Files) -> bool:
    """Whether a directory is a dump of MindSpore 1.2 or later, which only the server reads."""
    return any(name == ".dump_metadata" or re.fullmatch(r"rank_\d+", name) for name in files.names())


def read_json(files: Files, path: str, damages: list[Damage]) -> Values:
    """A file with a JSON object; {} if there is none, or it is damaged."""
    size = files.size(path)
    if size is None:
        return {}
    if size > MAX_JSON:
        damages.append(Damage(f"{files.name}/{path}", MAX_JSON, f"{size} bytes of JSON, more than {MAX_JSON}"))
        return {}
    try:
        content = json.loads(files.read(path, 0, MAX_JSON))
    except (OSError, ValueError, RecursionError) as error:
        damages.append(Damage(f"{files.name}/{path}", 0, f"not JSON: {error}"))
        return {}
    if isinstance(content, dict):
        return content
    damages.append(Damage(f"{files.name}/{path}", 0, "not a JSON object"))
    return {}


class Rank:
    """A rank's directory. Its parts are read when they are first used, and again after `refresh`."""

    def __init__(self, files: Files, number: int) -> None:
        self.files = files
        self.number = number
        self.name = directory(number)
        self._info: Values = {}
        self._nodes = NodeTable()
        self._hits: list[Values] = []
        self._user_changes: list[Values] = []
        self._steps = StepIndex()
        self._packed = Packed(files, number)
        self._log: Log | None = None
        self._read_ends: dict[str, int] = {}
        self._marks_until = 0
        self._tensor_keys: set[tuple[int, int]] = set()
        self._tensors_until = -1
        self._damages: dict[str, Damage] = {}
        self._fresh: set[str] = set()

    def refresh(self) -> None:
        """Lets everything be read again where it has grown."""
        self._fresh.clear()

    def _is_stale(self, part: str) -> bool:
        if part in self._fresh:
            return False
        self._fresh.add(part)
        return True

    @property
    def info(self) -> Values:
        """The content of rank.json."""
        if self._is_stale("info") and not self._info.get("ended"):
            damages: list[Damage] = []
            self._info = read_json(self.files, f"{self.name}/rank.json", damages)
            self._note("rank.json", damages[0] if damages else None)
        return self._info

    @property
    def log(self) -> Log | None:
        """Its segments and ring; None at a URL."""
        self.load(lambda records: None)
        return self._log

    def load(self, progress: Callable[[int], None]) -> None:
        """Reads the log. `progress` receives the number of records of each segment."""
        if self.files.local is not None and self._is_stale("log"):
            self._log = self._log or Log(self.log_directory, self.ring_file, self.ring_incarnation)
            self._log.refresh(progress)

    @property
    def log_directory(self) -> Path:
        """Where its segments are; only of a run on this machine."""
        if self.files.local is None:
            raise ValueError(f"{self.files.name} is not on this machine")
        return self.files.local / self.name / "log"

    @property
    def packed(self) -> Packed:
        """Its Parquet files. Without pyarrow none, if the log shows that it was not packed away."""
        if self._is_stale("packed"):
            try:
                self._packed.refresh()
            except MissingPackageError:
                # A log that begins with the first record has all of them: pack removes the oldest segments first.
                if self.log is None or not any(first == 0 for first, _ in self.log.ranges()):
                    self._fresh.discard("packed")
                    raise
        return self._packed

    @property
    def nodes(self) -> NodeTable:
        """Its nodes."""
        self.load_nodes(lambda size: None)
        return self._nodes

    def load_nodes(self, progress: Callable[[int], None]) -> None:
        """Decodes the graph. `progress` receives the number of bytes of each message."""
        if self._is_stale("nodes"):
            for values in self._messages("graph.gdbm", GRAPH_UPDATES, GRAPH_UPDATE, progress):
                self._nodes.add(values)

    @property
    def graph_bytes(self) -> int:
        """The size of its graph's file."""
        return self.files.size(f"{self.name}/graph.gdbm") or 0

    @property
    def hits(self) -> list[Values]:
        """The messages of its hits, in the order in which they were recorded."""
        if self._is_stale("hits"):
            self._hits += self._messages("hits.gdbm", HITS, HIT)
        return self._hits

    @property
    def user_changes(self) -> list[Values]:
        """The messages of what users have changed, in the order in which it was done."""
        if self._is_stale("user changes"):
            self._user_changes += self._messages(_USER_CHANGES_FILE, USER_CHANGES, USER_CHANGE)
        return self._user_changes

    @property
    def last_ops(self) -> list[LastOp]:
        """The last op of each thread, of a rank that runs or was lost."""
        ops, damage = read_last_ops(self)
        self._note("last ops", damage)
        return ops

    @property
    def steps(self) -> StepIndex:
        """Its steps."""
        if self._is_stale("steps"):
            self._steps.add(self.select(Selection((BEGIN_KIND, END_KIND), first_position=self._marks_until)).records)
            # Records that only the ring has are read again: an earlier one may not have been committed yet.
            ranges = [*(self.log.ranges() if self.log else []), *self.packed.ranges()]
            self._marks_until = max((end for _, end in ranges), default=0)
        return self._steps

    @property
    def ring_file(self) -> Path | None:
        """Where the ring is; None if there is none on this machine's file systems."""
        if self.files.local is None:
            return None
        place = self.info.get("ring", "ring.gdbr")
        if not isinstance(place, str) or not place or "\0" in place:
            return None
        # A ring elsewhere has an absolute path; "/" in a relative one would lead out of the run.
        if not os.path.isabs(place) and "/" in place:
            return None
        return self.files.local / self.name / place

    @property
    def ring_incarnation(self) -> bytes | None:
        """The incarnation that a ring outside of the run must have: a run may name any file. None: it is in the run."""
        file = self.ring_file
        if file is None or file.parent == self.log_directory.parent:
            return None
        try:
            return bytes.fromhex(str(self.info.get("incarnation")))
        except ValueError:
            return b""

    @property
    def ended(self) -> str | None:
        """How the process ended: "exit", "exception", "terminated", "closed", or "lost" if it died.

        None while it runs, and where that cannot be known: its ring is on another machine.
        """
        ended = self.info.get("ended")
        if isinstance(ended, dict):
            return str(ended.get("reason") or "exit")
        if self.files.local is None:
            return None
        file = self.ring_file
        if file is not None and file.exists():
            try:
                return None if ring.is_locked(file) else LOST
            except OSError:
                return None
        return LOST if self._is_gone(file) else None

    def _is_gone(self, file: Path | None) -> bool:
        """Whether the process of a rank without a ring is gone."""
        in_run = file is not None and file.parent == self.files.local / self.name  # type: ignore[operator]
        if in_run and self.info:
            return True
        if self.info.get("host") != socket.gethostname():
            return False
        return file is not None or not Path(f"/proc/{self.info.get('pid')}").exists()

    @property
    def damages(self) -> list[Damage]:
        """Unreadable parts of all files except those of tensors."""
        logged = self.log.damages if self.log else []
        _ = self.info
        # Reading the graph of each of many ranks would take long; its checksums do not.
        for part, name, kind in (
            ("nodes", "graph.gdbm", GRAPH_UPDATES),
            ("hits", "hits.gdbm", HITS),
            ("user changes", _USER_CHANGES_FILE, USER_CHANGES),
        ):
            if part not in self._fresh:
                self._check_messages(name, kind)
        return [*self._damages.values(), *logged, *self.packed.damages] or self._gaps()

    def _gaps(self) -> list[Damage]:
        """Positions that are missing although all were kept: a segment was removed."""
        record = self.config.get("record")
        if self.log is None or not isinstance(record, dict) or record.get("keep") != "all":
            return []
        ranges = merged([(0, 0), *self.log.ranges(), *self.packed.ranges()])
        return [
            Damage(str(self.log_directory), 0, f"records {end} to {first - 1} are missing")
            for (_, end), (first, _) in itertools.pairwise(ranges)
        ]

    @property
    def config(self) -> Values:
        """The effective configuration."""
        found = self.info.get("config")
        return found if isinstance(found, dict) else {}

    def select(self, selection: Selection) -> Found:
        """The selected records, in order of position."""
        logged = self.log.select(selection) if self.log else Found.join([])
        if self.log_has_all():
            return logged
        packed = self.packed.select(selection, lambda: self.nodes)
        new = outside(packed.positions, self.log.ranges() if self.log else [])
        return Found.join([Found(packed.positions[new], packed.records[new]), logged]).sorted()

    def log_has_all(self) -> bool:
        """Whether no chunk has positions that the log does not have."""
        return _cover(self.log.ranges() if self.log else [], self.packed.chunks)

    def keeps_log(self) -> bool:
        """Whether no chunk has positions beyond those of the log's files. Unlike `log_has_all`, reads no record."""
        chunks = self.packed.chunks
        ranges: list[tuple[int, int]] = []
        for first, file in segment_files(self.log_directory).items() if self.files.local and chunks else ():
            size = self.files.size(f"{self.name}/log/{file.name}") or 0
            ranges.append((int(first), int(first) + max(0, size - HEADER_SIZE) // RECORD_SIZE))
        return _cover(ranges, chunks)

    @property
    def end_position(self) -> int:
        """The position behind the last record."""
        ends = [end for _, end in self.log.ranges()] if self.log else []
        if self.log and len(self.log.recovered.positions):
            ends.append(int(self.log.recovered.positions[-1]) + 1)
        return max([*ends, self.packed.last_position], default=0)

    def unpacked(self, selection: Selection) -> Found:
        """The selected records that are not in Parquet."""
        found = self.log.select(selection) if self.log else Found.join([])
        if not self.packed.chunks:
            return found
        new = outside(found.positions, self.packed.ranges())
        return Found(found.positions[new], found.records[new])

    @property
    def log_bytes(self) -> int:
        """The size of the log's segments."""
        return sum(self.files.size(f"{self.name}/log/{name}") or 0 for name in self.files.names(f"{self.name}/log"))

    @property
    def unpacked_count(self) -> int:
        """The number of records that are only in the log."""
        if self.log is None:
            return 0
        both = merged([*self.log.ranges(), *self.packed.ranges()])
        packed = merged(self.packed.ranges())
        segments = sum(end - first for first, end in both) - sum(end - first for first, end in packed)
        return segments + int(outside(self.log.recovered.positions, packed).sum())

    @property
    def parts(self) -> list[Rank]:
        """The ranks that it consists of: itself, or those of the runs of a chain."""
        return [self]

    def read_saved(self, saved: Array) -> Array:
        """The value of a record of a saved tensor, as SAVED. Raises DataLossError."""
        return read_saved(self.files, self.name, saved)

    def statistics(self, first: int | None, last: int | None, tensor: tuple[int, int] | None = None) -> Found:
        """Records of statistics in steps of [first, last], of one tensor or all."""
        node, slot = tensor or (None, None)
        return self.select(Selection((STATISTICS_KIND,), first, last, node, slot))

    def saved(self, first: int | None = None, last: int | None = None, tensor: tuple[int, int] | None = None) -> Found:
        """Records of saved tensors, as `statistics`."""
        node, slot = tensor or (None, None)
        return self.select(Selection((SAVED_KIND,), first, last, node, slot))

    def tensors(self, first: int | None = None, last: int | None = None, mode: int | None = None) -> list[str]:
        """Names of the tensors with records in these steps, in the order of their nodes."""
        if (first, last, mode) == (None, None, None):
            keys = self._all_tensors()
        else:
            found = self.select(Selection((STATISTICS_KIND, CHANGE_KIND, SAVED_KIND), first, last)).records
            keys = _keys(found if mode is None else found[found["mode"] == mode])
        return [f"{self.nodes.name(node)}:{slot}" for node, slot in sorted(keys)]

    def tensor_key(self, name: str) -> tuple[int, int] | None:
        """Node and slot of a tensor; None if the graph has no such node."""
        node, slot = split_tensor(name)
        number = self.nodes.id_of(node)
        return None if number is None else (number, slot)

    def tensor_keys(self, names: Iterable[str]) -> Array:
        """Those of the tensors whose nodes the graph has, each as one number, like `record.tensor_keys`."""
        found = filter(None, map(self.tensor_key, names))
        return numpy.array([node << 16 | slot for node, slot in found], "<u8")

    def _all_tensors(self) -> set[tuple[int, int]]:
        if self.end_position != self._tensors_until:
            self._tensors_until = self.end_position
            for block in self._blocks():
                kinds = block["kind"]
                self._tensor_keys |= _keys(
                    block[(kinds == STATISTICS_KIND) | (kinds == CHANGE_KIND) | (kinds == SAVED_KIND)]
                )
        return self._tensor_keys

    def _blocks(self) -> list[Array] | Any:
        if self.log and self.log_has_all():
            return (block.records for block in self.log.blocks())
        return [self.select(Selection((STATISTICS_KIND, CHANGE_KIND, SAVED_KIND))).records]

    def _note(self, name: str, damage: Damage | None) -> None:
        if damage is None:
            self._damages.pop(name, None)
        else:
            self._damages[name] = damage

    def _opened_messages(self, name: str, kind: int) -> Messages | None:
        """The bytes added to a file of messages since it was last read; None if there are none."""
        path = f"{self.name}/{name}"
        size, start = self.files.size(path), self._read_ends.get(name, 0)
        if size is None or size <= start:
            return None
        if size - start > _MAX_MESSAGES:
            self._note(name, Damage(f"{self.files.name}/{path}", start, f"{size} bytes, more than {_MAX_MESSAGES}"))
            return None
        growing = not self.info.get("ended")
        return Messages(f"{self.files.name}/{path}", self.files.read(path, start), kind, growing, start)

    def _check_messages(self, name: str, kind: int) -> None:
        messages = self._opened_messages(name, kind)
        if messages is not None:
            collections.deque(messages, maxlen=0)
            self._note(name, messages.damage)

    def _messages(
        self, name: str, kind: int, fields: Fields, progress: Callable[[int], None] = lambda size: None
    ) -> Iterator[Values]:
        """The messages that were added to a file since the last call."""
        messages = self._opened_messages(name, kind)
        if messages is None:
            return
        damage: Damage | None = None
        for message in messages:
            try:
                yield decode(message, fields)
                progress(len(message))
            except DecodeError as error:
                damage = Damage(f"{self.files.name}/{self.name}/{name}", messages.end, str(error))
        self._read_ends[name] = messages.end
        self._note(name, messages.damage or damage)


def _keys(records: Array) -> set[tuple[int, int]]:
    numbers = numpy.unique(tensor_keys(records))
    return {(int(number) >> 16, int(number) & 0xFFFF) for number in numbers}


def _cover(ranges: list[tuple[int, int]], chunks: list[Chunk]) -> bool:
    joined = merged(ranges)
    return all(any(first <= chunk.first and chunk.end <= end for first, end in joined) for chunk in chunks)


def merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges of positions [first, end), with neighbours joined."""
    found: list[tuple[int, int]] = []
    for first, end in sorted(ranges):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((first, end))
    return found


def outside(positions: Array, ranges: list[tuple[int, int]]) -> Array:
    """Which positions are in none of the ranges; a bool for each."""
    joined = merged(ranges)
    if not joined:
        return numpy.ones(len(positions), bool)
    first = numpy.array([first for first, _ in joined], "<u8")
    end = numpy.array([end for _, end in joined], "<u8")
    at = numpy.searchsorted(first, positions, side="right").astype(numpy.intp) - 1
    return (at < 0) | (positions >= end[numpy.maximum(at, 0)])
