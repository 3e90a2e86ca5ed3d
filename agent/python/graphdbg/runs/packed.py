"""The Parquet files of a rank, which `pack` writes: chunks of consecutive positions.

`records` has, for each chunk, the records that no other table holds to the byte. It is
written last, so a chunk is complete if it has one; its metadata has the chunk's positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy

from .columns import records_of
from .errors import Damage, DataLossError
from .files import Files, RemoteFiles
from .graph import NodeTable
from .log import Found, Selection
from .packages import load
from .record import CHANGE_KIND, RECORD, RECORD_SIZE, STATISTICS_KIND, Array

DIRECTORY = "parquet"
RECORDS = "records"
# The file of a table that has one for all steps.
WHOLE = "all.parquet"
VIEW_OF_KIND = {STATISTICS_KIND: "statistics", CHANGE_KIND: "changes"}
FIRST_POSITION, END_POSITION, FIRST_STEP, LAST_STEP = (
    f"graphdbg.{name}".encode() for name in ("first_position", "end_position", "first_step", "last_step")
)


@dataclass(frozen=True)
class Chunk:
    """One set of files of the same name.

    Attributes:
        name: The name of its files.
        first, end: Its positions, [first, end).
        first_step, last_step: Its steps, both inclusive.
        views: The tables in which it has a file.
    """

    name: str
    first: int
    end: int
    first_step: int
    last_step: int
    views: frozenset[str]


def directory(view: str, rank: int) -> str:
    """The directory of a rank's files of a table. Without leading zeros, for which engines would read text."""
    return f"{DIRECTORY}/{view}/rank={rank}"


class Packed:
    """The chunks of a rank.

    Attributes:
        chunks: In order of position.
        damages: Files that cannot be read.
    """

    def __init__(self, files: Files, rank: int) -> None:
        self._files = files
        self._rank = rank
        self._known: dict[str, Chunk] = {}
        self.damages: list[Damage] = []

    @property
    def chunks(self) -> list[Chunk]:
        return sorted(self._known.values(), key=lambda chunk: chunk.first)

    def refresh(self) -> None:
        names = [name for name in self._files.names(directory(RECORDS, self._rank)) if name.endswith(".parquet")]
        new = [name for name in names if name not in self._known]
        if not new:
            return
        present = {view: set(self._files.names(directory(view, self._rank))) for view in ("statistics", "changes")}
        for name in new:
            views = frozenset(view for view, files in present.items() if name in files)
            chunk = self._chunk(name, views)
            if chunk is not None:
                self._known[name] = chunk

    def ranges(self) -> list[tuple[int, int]]:
        return [(chunk.first, chunk.end) for chunk in self.chunks]

    @property
    def last_position(self) -> int:
        return max((chunk.end for chunk in self._known.values()), default=0)

    def path(self, view: str, chunk: Chunk) -> str:
        """The path of a chunk's file, relative to the run."""
        return f"{directory(view, self._rank)}/{chunk.name}"

    def files(self, view: str) -> list[str]:
        """The paths of all files of a view, relative to the run, without those of incomplete chunks."""
        if view in VIEW_OF_KIND.values():
            return [self.path(view, chunk) for chunk in self.chunks if view in chunk.views]
        known = {*self._known, WHOLE}
        names = [name for name in self._files.names(directory(view, self._rank)) if name in known]
        return [f"{directory(view, self._rank)}/{name}" for name in names]

    def select(self, selection: Selection, nodes: Callable[[], NodeTable]) -> Found:
        """The selected records, as the log had them. The graph is only read where tensors have names."""
        chunks = [chunk for chunk in self.chunks if _may_have(chunk, selection)]
        return Found.join([part for chunk in chunks for part in self._parts(chunk, selection, nodes)]).sorted()

    def read(self, chunk: Chunk, nodes: Callable[[], NodeTable]) -> Found:
        """All records of a chunk, in order of position."""
        return Found.join(list(self._parts(chunk, None, nodes))).sorted()

    def table(self, view: str, chunk: Chunk, filters: Any = None) -> Any:
        """The pyarrow.Table of a chunk's file; None if it has none."""
        if view != RECORDS and view not in chunk.views:
            return None
        try:
            return read_table(self._files, self.path(view, chunk), filters)
        except (OSError, ValueError) as error:
            raise self._damage(view, chunk, error) from None

    def _parts(self, chunk: Chunk, selection: Selection | None, nodes: Callable[[], NodeTable]) -> Iterator[Found]:
        raw = self._raw(chunk)
        if selection is None or selection.kinds is None or set(selection.kinds) & set(VIEW_OF_KIND):
            for kind, view in VIEW_OF_KIND.items():
                if selection is None or selection.kinds is None or kind in selection.kinds:
                    yield self._rows(kind, view, chunk, selection, nodes, raw.positions)
        wanted = slice(None) if selection is None else selection.mask(raw.records)
        yield Found(raw.positions[wanted], raw.records[wanted])

    def _rows(
        self,
        kind: int,
        view: str,
        chunk: Chunk,
        selection: Selection | None,
        nodes: Callable[[], NodeTable],
        raw: Array,
    ) -> Found:
        table = self.table(view, chunk, _filters(selection, nodes))
        if table is None:
            return Found.join([])
        try:
            positions, records = records_of(kind, table, nodes())
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise self._damage(view, chunk, error) from None
        # A record that no table holds to the byte is in both, so that queries find it.
        kept = ~numpy.isin(positions, raw) & (positions >= chunk.first) & (positions < chunk.end)
        if selection is not None:
            kept &= selection.mask(records)
        return Found(positions[kept], records[kept])

    def _raw(self, chunk: Chunk) -> Found:
        table = self.table(RECORDS, chunk)
        try:
            content = b"".join(table.column("record").to_pylist())
            records = numpy.frombuffer(content, RECORD, count=len(content) // RECORD_SIZE)
            positions = table.column("position").to_numpy().astype("<i8").view("<u8")
            if len(records) != len(positions):
                raise ValueError(f"{len(positions)} positions of {len(records)} records")
        except (ValueError, KeyError, TypeError) as error:
            raise self._damage(RECORDS, chunk, error) from None
        return Found(positions, records)

    def _damage(self, view: str, chunk: Chunk, error: Exception) -> DataLossError:
        return Damage(f"{self._files.name}/{self.path(view, chunk)}", 0, str(error)).error()

    def _chunk(self, name: str, views: frozenset[str]) -> Chunk | None:
        path = f"{directory(RECORDS, self._rank)}/{name}"
        try:
            with _opened(self._files, path) as source:
                metadata = load("pyarrow.parquet", "a packed run").read_schema(source).metadata or {}
            first, end, first_step, last_step = (
                int(metadata[key]) for key in (FIRST_POSITION, END_POSITION, FIRST_STEP, LAST_STEP)
            )
        except (OSError, ValueError, KeyError) as error:
            self.damages.append(Damage(f"{self._files.name}/{path}", 0, f"not a file that pack wrote: {error}"))
            return None
        return Chunk(name, first, end, first_step, last_step, views)


def _may_have(chunk: Chunk, selection: Selection) -> bool:
    after = selection.first_step is not None and chunk.last_step < selection.first_step
    before = selection.last_step is not None and chunk.first_step > selection.last_step
    return not after and not before and chunk.end > selection.first_position


def _filters(selection: Selection | None, nodes: Callable[[], NodeTable]) -> list[tuple[str, str, Any]] | None:
    if selection is None:
        return None
    found: list[tuple[str, str, Any]] = []
    if selection.first_step is not None:
        found.append(("step", ">=", selection.first_step))
    if selection.last_step is not None:
        found.append(("step", "<=", selection.last_step))
    if selection.node is not None and selection.slot is not None:
        found.append(("tensor", "==", f"{nodes().name(selection.node)}:{selection.slot}"))
    return found or None


def read_table(files: Files, path: str, filters: Any = None) -> Any:
    """Reads a Parquet file of a run as a pyarrow.Table. Raises OSError and ValueError."""
    parquet = load("pyarrow.parquet", "a packed run")
    with _opened(files, path) as source:
        # Without the partitioning of its directory, because the rank is known.
        return (
            parquet.ParquetFile(source).read()
            if filters is None
            else parquet.read_table(source, filters=filters, partitioning=None)
        )


def _opened(files: Files, path: str) -> Any:
    if isinstance(files, RemoteFiles):
        return files.filesystem.open_input_file(files.path(path))
    return load("pyarrow", "a packed run").OSFile(f"{files.name}/{path}")
