"""The tables of a run, over all ranks: from Parquet where it is packed, and from the log where it is not."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from graphdbg.client.errors import USAGE, GraphdbgError

from .columns import Rows, TableMaker
from .files import RemoteFiles
from .graph import NodeTable, split_tensor
from .log import Found, Selection
from .packages import load
from .packed import VIEW_OF_KIND, Chunk
from .rank import Rank, outside
from .record import UNITS_KIND
from .steps import StepIndex
from .tables import VIEWS, hits_table, nodes_table, steps_table, tensors_table, units_table

KIND_OF_VIEW = {view: kind for kind, view in VIEW_OF_KIND.items()}
# Rows of the log that a query may copy into memory: some 200 bytes each.
MAX_ROWS_IN_MEMORY = 20_000_000


def check_view(name: str) -> None:
    if name not in VIEWS:
        raise GraphdbgError(f"no table {name}; there are {', '.join(VIEWS)}", USAGE)


def table(ranks: Iterable[Rank], view: str, first: int | None = None, last: int | None = None) -> Any:
    """The pyarrow.Table of a view, with the column `rank` first. Steps limit it where it has steps."""
    pa = load("pyarrow", "a table of a run")
    parts = [_of_rank(rank, view, first, last) for rank in ranks]
    if not parts:
        raise GraphdbgError("a run without ranks has no tables")
    return pa.concat_tables(parts, promote_options="permissive")


def empty_table(view: str) -> Any:
    """The pyarrow.Table of a view without rows."""
    nodes, steps, nothing = NodeTable(), StepIndex(), Found.join([])
    if view in KIND_OF_VIEW:
        rows = Rows.of(nothing.positions, nothing.records)
        return _with_rank([TableMaker(nodes, steps).table(KIND_OF_VIEW[view], rows)], 0)
    tables = {
        "nodes": lambda: nodes_table(nodes),
        "hits": lambda: hits_table([], nodes),
        "steps": lambda: steps_table([]),
        "tensors": lambda: tensors_table(nothing.records, nodes, steps),
        "units": lambda: units_table(nothing.positions, nothing.records, nodes, steps),
    }
    return _with_rank([tables[view]()], 0)


def filtered(table: Any, steps: list[int] | None, mode: int | None, tensors: Collection[str] | None) -> Any:
    """The rows of a table of statistics in these steps, of this mode and of these tensors; None keeps all."""
    field = load("pyarrow.compute", "statistics as a table").field
    if steps is not None:
        table = table.filter(field("step").isin(steps))
    if mode is not None:
        table = table.filter(field("mode") == mode)
    if tensors is not None:
        names = [":".join(map(str, split_tensor(each))) for each in tensors]
        table = table.filter(field("tensor").cast("string").isin(names))
    return table


def _of_rank(rank: Rank, view: str, first: int | None, last: int | None) -> Any:
    parts = [_logged(rank, view, first, last)]
    if view in KIND_OF_VIEW:
        parts = [_packed(rank, chunk, view, first, last) for chunk in rank.packed.chunks] + parts
    return _with_rank([part for part in parts if part is not None], rank.number)


def _with_rank(parts: Sequence[Any], number: int) -> Any:
    pa = load("pyarrow", "a table of a run")
    joined = pa.concat_tables([_plain(part) for part in parts], promote_options="permissive")
    return joined.add_column(0, "rank", pa.array([number], pa.int64()).take(pa.array([0] * joined.num_rows, pa.int8())))


def _plain(part: Any) -> Any:
    return part.replace_schema_metadata(None)


def _packed(rank: Rank, chunk: Chunk, view: str, first: int | None, last: int | None) -> Any:
    outside_range = (first is not None and chunk.last_step < first) or (last is not None and chunk.first_step > last)
    if outside_range:
        return None
    filters = [("step", ">=", first)] if first is not None else []
    filters += [("step", "<=", last)] if last is not None else []
    return rank.packed.table(view, chunk, filters or None)


def _logged(rank: Rank, view: str, first: int | None, last: int | None) -> Any:
    """The rows of a view that are in the log and not in Parquet; for small views, all rows."""
    if view == "nodes":
        return nodes_table(rank.nodes)
    if view == "hits":
        return hits_table(rank.hits, rank.nodes)
    if view == "steps":
        marks = sorted(rank.steps.marks.values(), key=lambda mark: (mark.step, mark.mode, mark.pass_))
        wanted = [
            mark for mark in marks if first is None or first <= mark.step <= (last if last is not None else first)
        ]
        return steps_table(wanted if last is not None else marks)
    if view == "tensors":
        return tensors_table(rank.saved(first, last).records, rank.nodes, rank.steps)
    if view == "units":
        units = rank.select(Selection((UNITS_KIND,), first, last))
        return units_table(units.positions, units.records, rank.nodes, rank.steps)
    kind = KIND_OF_VIEW[view]
    found = rank.unpacked(Selection((kind,), first, last))
    return TableMaker(rank.nodes, rank.steps).table(kind, Rows.of(found.positions, found.records))


class Database:
    """Answers SQL by DuckDB over the views of a run. Views exist once a query names them."""

    def __init__(self) -> None:
        self._connection: Any = None
        # By view: what its definition was made from.
        self._defined: dict[str, tuple[tuple[int, ...], ...]] = {}

    def query(self, ranks: Sequence[Rank], text: str) -> Any:
        """The pyarrow.Table with the answer."""
        duckdb = load("duckdb", "SQL over a run")
        load("pyarrow", "SQL over a run")
        if self._connection is None:
            self._connection = duckdb.connect()
            # DuckDB 2.0 loses rows of a left join to a window over Parquet files if its scan is filtered by the
            # join's keys.
            self._connection.execute("set disabled_optimizers = 'join_filter_pushdown'")
        words = {word.lower() for word in re.findall(r"[A-Za-z_]+", text)}
        try:
            for view in VIEWS:
                if view in words:
                    self._define(ranks, view)
            answer = self._connection.sql(text)
            # Statements such as `set` have no answer.
            return load("pyarrow", "SQL over a run").table({}) if answer is None else answer.to_arrow_table()
        except duckdb.Error as error:
            if isinstance(error, (duckdb.FatalException, duckdb.InternalException)):
                # Such as after a damaged file: the connection refuses everything from then on.
                self._connection, self._defined = None, {}
            raise GraphdbgError(f"the query failed: {error}", USAGE) from None

    def _define(self, ranks: Sequence[Rank], view: str) -> None:
        state = tuple((rank.number, rank.end_position, len(rank.packed.chunks), len(rank.hits)) for rank in ranks)
        if self._defined.get(view) == state:
            return
        logged = [rank for rank in ranks if not _is_packed(rank) or not _has_files(rank, view)]
        # Views without positions come from Parquet if all of a rank is packed, and else from its log.
        stored = ranks if view in KIND_OF_VIEW else [rank for rank in ranks if rank not in logged]
        files = [file for rank in stored for file in rank.packed.files(view)]
        sources = [self._files(ranks[0], view, files)] if files else []
        if logged or not files:
            sources.append(self._logged(logged or ranks[:1], view))
        self._connection.execute(f"create or replace temp view {view} as {' union all by name '.join(sources)}")
        self._defined[view] = state

    def _logged(self, ranks: Sequence[Rank], view: str) -> str:
        rows = sum(rank.unpacked_count for rank in ranks) if view in KIND_OF_VIEW else 0
        if rows > MAX_ROWS_IN_MEMORY:
            raise GraphdbgError(
                f"{rows} records are only in the log, more than {MAX_ROWS_IN_MEMORY}: run `graphdbg pack` first", USAGE
            )
        parts = [_with_rank([_logged(rank, view, None, None)], rank.number) for rank in ranks]
        joined = load("pyarrow", "SQL over a run").concat_tables(parts, promote_options="permissive")
        self._connection.register(f"_logged_{view}", joined)
        return f"select * from _logged_{view}"

    def _files(self, rank: Rank, view: str, files: Collection[str]) -> str:
        if isinstance(rank.files, RemoteFiles):
            pa, dataset = load("pyarrow", "SQL over a run"), load("pyarrow.dataset", "SQL over a run")
            paths = [rank.files.path(file) for file in files]
            parts = dataset.partitioning(pa.schema([("rank", pa.int64())]), flavor="hive")
            found = dataset.dataset(paths, filesystem=rank.files.filesystem, format="parquet", partitioning=parts)
            self._connection.register(f"_packed_{view}", found)
            return f"select rank, * exclude (rank) from _packed_{view}"
        quoted = ", ".join(_quoted(f"{rank.files.name}/{file}") for file in files)
        options = "hive_partitioning=true, hive_types={'rank': bigint}, union_by_name=false"
        return f"select rank, * exclude (rank) from read_parquet([{quoted}], {options})"


def _has_files(rank: Rank, view: str) -> bool:
    """Whether an absent file means that there are no rows: runs that were packed earlier have none of units."""
    return view != "units" or bool(rank.packed.files(view))


def _is_packed(rank: Rank) -> bool:
    """Whether Parquet has all records, so that the log need not be read."""
    if rank.log is None:
        return bool(rank.packed.chunks)
    ranges = rank.packed.ranges()
    positions = [(first, end) for first, end in rank.log.ranges()]
    inside = all(any(begin <= first and end <= stop for begin, stop in ranges) for first, end in positions)
    return bool(ranges) and inside and not outside(rank.log.recovered.positions, ranges).any()


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
