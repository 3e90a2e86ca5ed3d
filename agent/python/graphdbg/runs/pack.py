"""Packs the log of a rank into Parquet files, as compact as they get without loss, and verifies them.

`pack` and `unpack` are inverse: the log is only removed when every row was read back and
compared with what the log has.
"""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

from .checksums import Checksums, checksums
from .columns import MEASURE_COLUMNS, Rows, TableMaker, TablePart
from .errors import DataLossError
from .files import Files, RemoteFiles, sync_directory
from .log import Found
from .packages import load
from .packed import (
    END_POSITION,
    FIRST_POSITION,
    FIRST_STEP,
    LAST_STEP,
    RECORDS,
    VIEW_OF_KIND,
    WHOLE,
    directory,
)
from .rank import Rank, outside
from .record import BEGIN_KIND, END_KIND, SAVED_KIND, UNITS_KIND, Array
from .tables import hits_table, nodes_table, steps_table, tensors_table, units_table

FORMAT = b"1"
ROW_GROUP = 245_760
# More than what Arrow does by default: each page and each batch of each column takes time of its own.
_PAGE_ROWS = 61_440
_MAX_ROWS = 2_000_000
_MAX_STEPS = 1000
# Counts that differ from row to row, too many for a dictionary.
_DELTAS = {"position", "negative_count", "positive_count"}
# Of zstd. A fast level for records, because bytes of measures either compress as well at these, or not at any.
_LEVEL = 1
_LEVEL_OF_RECORDS = -5


@dataclass(frozen=True)
class PackedPart:
    """The result of one call of `pack_rank`.

    Attributes:
        rows: The number of records.
        bytes: The size of the files.
        files: The number of files.
    """

    rows: int
    bytes: int
    files: int


@dataclass
class _Chunk:
    """Records that become one set of files.

    Attributes:
        rows: The records.
        first, end: Their positions, [first, end).
        steps: The number of steps that have ended.
    """

    rows: Rows
    first: int
    end: int
    steps: int = 0


def pack_rank(
    rank: Rank, target: Files, whole: bool, progress: Callable[[int], None] = lambda rows: None
) -> PackedPart:
    """Packs what is in the log of a rank and not yet in Parquet at the target.

    Args:
        rank: The rank, whose files are on this machine.
        target: The run's files, or a copy elsewhere.
        whole: Whether the records behind the last end of a chunk are packed, too: the rank has ended.
        progress: Receives numbers of records whenever some have been written.

    Raises:
        DataLossError: What was read back differs from what was written.
        OSError: A file cannot be written.
    """
    with _memory_of_arrow():
        return _pack_rank(rank, target, whole, progress)


def _pack_rank(rank: Rank, target: Files, whole: bool, progress: Callable[[int], None]) -> PackedPart:
    done = Rank(target, rank.number).packed.ranges()
    writer = _Writer(rank, target, progress)
    rows = 0
    for chunk in _chunks(rank, done, whole):
        writer.write(chunk)
        rows += len(chunk.rows)
    if whole or rows:
        writer.write_whole("nodes", nodes_table(rank.nodes))
        writer.write_whole("hits", hits_table(rank.hits, rank.nodes))
    return PackedPart(rows, writer.bytes, writer.files)


@contextlib.contextmanager
def _memory_of_arrow() -> Iterator[None]:
    """Has Arrow use the system's allocator meanwhile.

    Its own one returns the memory of each row group, which the system then clears for the next one.
    """
    pa = load("pyarrow", "packing a run")
    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(before)


def _chunks(rank: Rank, done: list[tuple[int, int]], whole: bool) -> Iterator[_Chunk]:
    """The chunks, which use the same memory one after the other."""
    rows: Rows | None = None
    chunk: _Chunk | None = None
    # While the process runs, the ring may have positions that are not committed yet.
    for found in rank.log.blocks(recovered=whole) if rank.log else ():
        positions, records = _without(found, done)
        start = 0
        while start < len(records):
            if chunk is None:
                if rows is None:
                    rows = Rows(min(_MAX_ROWS, rank.log.count if rank.log else 0))
                rows.clear()
                chunk = _Chunk(rows, int(positions[start]), 0)
            stop = start + _share(chunk, records[start:])
            chunk.rows.add(positions[start:stop], records[start:stop])
            chunk.end = int(positions[stop - 1]) + 1
            start = stop
            if len(chunk.rows) >= _MAX_ROWS or chunk.steps >= _MAX_STEPS:
                yield chunk
                chunk = None
    if chunk is not None and whole:
        yield chunk


def _without(found: Found, done: list[tuple[int, int]]) -> tuple[Array, Array]:
    new = outside(found.positions, done)
    if new.all():
        return found.positions, found.records
    return found.positions[new], found.records[new]


def _share(chunk: _Chunk, records: Array) -> int:
    """How many of the next records belong to a chunk: up to the end of its last step, or what it has room for."""
    ends = numpy.flatnonzero(records["kind"] == END_KIND)
    ends = ends[records["pass"][ends] == 0]
    wanted = _MAX_STEPS - chunk.steps
    share = min(int(ends[wanted - 1]) + 1 if len(ends) >= wanted else len(records), _MAX_ROWS - len(chunk.rows))
    chunk.steps += int(numpy.searchsorted(ends, share))
    return share


class _Writer:
    """Writes the files of chunks.

    Attributes:
        bytes, files: Size and number of the files.
    """

    def __init__(self, rank: Rank, target: Files, progress: Callable[[int], None]) -> None:
        self._rank = rank
        self._progress = progress
        self._target = target
        self._pa = load("pyarrow", "packing a run")
        self._parquet = load("pyarrow.parquet", "packing a run")
        self._maker = TableMaker(rank.nodes, rank.steps)
        self._names = {name for name in target.names(directory(RECORDS, rank.number)) if name.endswith(".parquet")}
        self.bytes = 0
        self.files = 0

    def write(self, chunk: _Chunk) -> None:
        """Writes a chunk, with the file that makes it complete last."""
        rows = chunk.rows
        kinds, steps = rows.keys["kind"], rows.keys["step"]
        first, last = int(steps.min()), int(steps.max())
        metadata = self._metadata(chunk, first, last)
        name = self._free_name(first, last)
        other = ~numpy.isin(kinds, list(VIEW_OF_KIND))
        self._progress(int(numpy.count_nonzero(other)))
        for kind in VIEW_OF_KIND:
            if (kinds == kind).any():
                path = f"{directory(VIEW_OF_KIND[kind], self._rank.number)}/{name}"
                parts = _noted(self._maker.parts(kind, rows, ROW_GROUP), other)
                self._write(path, parts, metadata, kind)
        index = numpy.flatnonzero(other)
        others = Found(rows.positions(index), rows.records(index)).sorted()
        self._write_small(others, name, metadata)
        self._write(f"{directory(RECORDS, self._rank.number)}/{name}", [self._records(others)], metadata)

    def write_whole(self, view: str, table: Any) -> None:
        """Writes a table that has one file."""
        path = f"{directory(view, self._rank.number)}/{WHOLE}"
        self._write(path, [table], self._metadata_of_run())

    def _write_small(self, others: Found, name: str, metadata: dict[bytes, bytes]) -> None:
        kinds = others.records["kind"]
        marks = others.records[(kinds == BEGIN_KIND) | (kinds == END_KIND)]
        saved = others.records[kinds == SAVED_KIND]
        units = kinds == UNITS_KIND
        nodes, index = self._rank.nodes, self._rank.steps
        keys = dict.fromkeys(zip(marks["step"].tolist(), marks["mode"].tolist(), marks["pass"].tolist(), strict=True))
        # A step whose begin is in an earlier chunk has its row there.
        ends = {(int(mark["step"]), int(mark["mode"]), int(mark["pass"])) for mark in marks[marks["kind"] == END_KIND]}
        entries = [index.marks[key] for key in keys if key in ends or not index.marks[key].has_ended]
        for view, table in (
            ("steps", steps_table(entries)),
            ("tensors", tensors_table(saved, nodes, index)),
            ("units", units_table(others.positions[units], others.records[units], nodes, index)),
        ):
            if table.num_rows:
                self._write(f"{directory(view, self._rank.number)}/{name}", [table], metadata)

    def _records(self, others: Found) -> Any:
        pa = self._pa
        content = pa.py_buffer(numpy.ascontiguousarray(others.records).view("u1"))
        kind = pa.binary(others.records.dtype.itemsize)
        rows = pa.FixedSizeBinaryArray.from_buffers(kind, len(others.records), [None, content])
        positions = pa.Array.from_buffers(pa.int64(), len(others.records), [None, pa.py_buffer(others.positions)])
        return pa.Table.from_arrays([positions, rows], names=["position", "record"])

    def _write(self, path: str, tables: Iterable[Any], metadata: dict[bytes, bytes], kind: int | None = None) -> None:
        if isinstance(self._target, RemoteFiles):
            self.bytes += self._write_remote(self._target, path, tables, metadata, kind)
        else:
            self.bytes += self._write_local(Path(self._target.name) / path, tables, metadata, kind)
        self.files += 1

    def _write_local(self, file: Path, tables: Iterable[Any], metadata: dict[bytes, bytes], kind: int | None) -> int:
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_name(f"{file.name}.part")
        try:
            with self._pa.OSFile(str(part), "wb") as sink:
                written = self._write_groups(sink, tables, metadata, kind)
            # Before it is renamed, so that a file under its name is good.
            with self._pa.OSFile(str(part)) as source:
                self._verify(source, str(file), written)
            with part.open("rb") as stream:
                os.fdatasync(stream.fileno())
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)
        sync_directory(file.parent)
        return file.stat().st_size

    def _write_remote(
        self, target: RemoteFiles, path: str, tables: Iterable[Any], metadata: dict[bytes, bytes], kind: int | None
    ) -> int:
        place = target.path(path)
        target.filesystem.create_dir(place.rpartition("/")[0], recursive=True)
        try:
            with target.filesystem.open_output_stream(place) as sink:
                written = self._write_groups(sink, tables, metadata, kind)
            with target.filesystem.open_input_file(place) as source:
                self._verify(source, f"{target.name}/{path}", written)
        except BaseException:
            target.remove(path)
            raise
        return target.size(path) or 0

    def _write_groups(
        self, sink: Any, tables: Iterable[Any], metadata: dict[bytes, bytes], kind: int | None
    ) -> list[Checksums]:
        """Writes each table as a row group, or as several if it is larger, and returns the checksums of each."""
        written: list[Checksums] = []
        writer: Any = None
        try:
            for table in tables:
                if writer is None:
                    schema = (table.schema if kind is None else self._without_nulls(table)).with_metadata(metadata)
                    writer = self._parquet.ParquetWriter(sink, schema, **_options(table, kind))
                for start in range(0, max(1, table.num_rows), ROW_GROUP):
                    group = table.slice(start, ROW_GROUP)
                    writer.write_table(
                        self._pa.Table.from_arrays(group.columns, schema=schema), row_group_size=ROW_GROUP
                    )
                    written.append(checksums(group))
                    if kind is not None:
                        self._progress(group.num_rows)
        finally:
            if writer is not None:
                writer.close()
        return written

    def _without_nulls(self, table: Any) -> Any:
        """The schema in which only measures may be null: for each such column, a file has to say which rows are."""
        floating = self._pa.types.is_floating
        return self._pa.schema([field.with_nullable(floating(field.type)) for field in table.schema])

    def _verify(self, source: Any, name: str, written: list[Checksums]) -> None:
        """Reads a file back, and compares row counts and checksums over all fields."""
        file = self._parquet.ParquetFile(source)
        if file.num_row_groups != len(written):
            raise DataLossError(f"DATA_LOSS: {name}: {file.num_row_groups} row groups, not {len(written)}")
        for group, expected in enumerate(written):
            if checksums(file.read_row_group(group, use_threads=False)) != expected:
                raise DataLossError(f"DATA_LOSS: {name}: what was read back of row group {group} differs")

    def _free_name(self, first: int, last: int) -> str:
        stem = f"{first:08d}-{last:08d}"
        name, number = f"{stem}.parquet", 1
        while name in self._names:
            number += 1
            name = f"{stem}-{number}.parquet"
        self._names.add(name)
        return name

    def _metadata(self, chunk: _Chunk, first: int, last: int) -> dict[bytes, bytes]:
        numbers = {FIRST_POSITION: chunk.first, END_POSITION: chunk.end, FIRST_STEP: first, LAST_STEP: last}
        return self._metadata_of_run() | {key: str(number).encode() for key, number in numbers.items()}

    def _metadata_of_run(self) -> dict[bytes, bytes]:
        info = self._rank.info
        return {
            b"graphdbg.format": FORMAT,
            b"graphdbg.run": str(info.get("run", "")).encode(),
            b"graphdbg.incarnation": str(info.get("incarnation", "")).encode(),
        }


def _noted(parts: Iterable[TablePart], unfaithful: Array) -> Iterator[Any]:
    """The tables of the parts. Records that they cannot restore are noted in `unfaithful`, a bool for each."""
    for part in parts:
        unfaithful[part.unfaithful] = True
        yield part.table


def _options(table: Any, kind: int | None) -> dict[str, Any]:
    options: dict[str, Any] = {
        "compression": "zstd",
        "compression_level": _LEVEL,
        "write_page_index": True,
        "write_batch_size": _PAGE_ROWS,
    }
    if "max_rows_per_page" in inspect.signature(load("pyarrow.parquet", "packing a run").ParquetWriter).parameters:
        # Earlier versions of pyarrow limit the size of a page only.
        options["max_rows_per_page"] = _PAGE_ROWS
    if kind is None:
        return options
    split = set(MEASURE_COLUMNS[kind])
    deltas = _DELTAS & set(table.column_names)
    return options | {
        "compression_level": _LEVEL_OF_RECORDS,
        "use_dictionary": [name for name in table.column_names if name not in split | deltas],
        "column_encoding": dict.fromkeys(split, "BYTE_STREAM_SPLIT") | dict.fromkeys(deltas, "DELTA_BINARY_PACKED"),
    }
