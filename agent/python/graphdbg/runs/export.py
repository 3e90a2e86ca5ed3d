"""Exports of a run: npy, safetensors, CSV, TensorBoard and Parquet."""

from __future__ import annotations

import re
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
from graphdbg.client.errors import USAGE, GraphdbgError

from . import views
from .errors import NotRecorded
from .export_events import export_events
from .files import whole_directory, whole_file
from .graph import split_tensor
from .packages import load
from .packed import VIEW_OF_KIND
from .rank import Rank
from .record import SAVED, mode_name
from .run import Run
from .safetensors import write_file
from .saved import for_numpy
from .tables import VIEWS, tensor_file

FORMATS = ("npy", "safetensors", "csv", "tensorboard", "parquet")
_DEFAULT_COLLECTION = "tensors"
# Records may be more than fit into memory, so some steps are read at once.
_STEPS_OF_FILE = 1000
_STEPS_OF_RECORDS = 100


@dataclass(frozen=True)
class ExportSelection:
    """The parts of a run to export; None selects all.

    Attributes:
        ranks: Ranks.
        first_step, last_step: Steps, both inclusive.
        tensors: A regular expression, found anywhere in the names of tensors.
        collection: Only tensors of this collection.
    """

    ranks: tuple[int, ...] | None = None
    first_step: int | None = None
    last_step: int | None = None
    tensors: str | None = None
    collection: str | None = None


@dataclass(frozen=True)
class Exported:
    """Attributes: the files that were written."""

    files: tuple[Path, ...]


Progress = Callable[[int, int], None]


def export_run(
    run: Run,
    kind: str,
    output: Path,
    selection: ExportSelection,
    progress: Progress = lambda done, total: None,
) -> Exported:
    """Writes an export below a directory, or as a file for CSV.

    After an error or an interruption nothing is left of a directory that is new, and whole files in another one.

    Args:
        run: The run.
        kind: One of FORMATS.
        output: The directory, which is made; of CSV, the file.
        selection: What is exported.
        progress: Receives how many values, records or parts of tables of how many have been written.

    Raises:
        NotRecorded: Nothing that was recorded is selected.
        GraphdbgError: The format is not one of these, or the selection is invalid.
        DataLossError: A saved value is damaged.
        OSError: A file cannot be written.
    """
    if kind not in FORMATS:
        raise GraphdbgError(f"no format {kind}; there are {', '.join(FORMATS)}", USAGE)
    writers = {"npy": _npy, "safetensors": _safetensors, "csv": _csv, "tensorboard": _tensorboard, "parquet": _parquet}
    with whole_directory(output):
        files = list(writers[kind](run, output, selection, progress))
    if not files:
        raise NotRecorded(f"nothing to export as {kind}: no value that is selected was saved")
    return Exported(tuple(files))


def _ranks(run: Run, selection: ExportSelection) -> list[Rank]:
    return [run.rank(number) for number in selection.ranks or run.ranks]


def _names(run: Run, selection: ExportSelection) -> set[str] | None:
    """The names of the selected tensors, of which not all need be recorded; None: all."""
    if selection.tensors is None and selection.collection is None:
        return None
    names = set(run.tensors(selection.tensors, collection=selection.collection))
    if selection.collection is None:
        known = (name for rank in _ranks(run, selection) for name in rank.nodes.tensor_names())
        names.update(name for name in known if re.search(selection.tensors or "", name))
    return names


def _saved(rank: Rank, selection: ExportSelection, names: set[str] | None) -> Iterator[tuple[str, Any]]:
    for each in rank.saved(selection.first_step, selection.last_step).records.view(SAVED):
        name = _tensor_name(rank, each)
        if names is None or name in names:
            yield name, each


def _tensor_name(rank: Rank, record: Any) -> str:
    return f"{rank.nodes.name(int(record['node']))}:{int(record['slot'])}"


def _npy(run: Run, output: Path, selection: ExportSelection, progress: Progress) -> Iterator[Path]:
    """One file for each value: RANK/STEP/NAME.npy, with / in names as %2F; bfloat16 and float8 as float32.

    Behind the name: #PASS from the second pass on, @MODE unless it is train, and ~2, ~3 for further executions.
    """
    names = _names(run, selection)
    values = [(rank, *each) for rank in _ranks(run, selection) for each in _saved(rank, selection, names)]
    executions: Counter[Path] = Counter()
    for done, (rank, name, saved) in enumerate(values, 1):
        place = (
            output / rank.name / f"{int(saved['step']):08d}" / (urllib.parse.quote(name, safe=" ") + _pass_of(saved))
        )
        executions[place] += 1
        again = f"~{executions[place]}" if executions[place] > 1 else ""
        file = place.with_name(f"{place.name}{again}.npy")
        with whole_file(file) as stream:
            numpy.save(stream, for_numpy(rank.read_saved(saved)), allow_pickle=False)
        progress(done, len(values))
        yield file


def _pass_of(saved: Any) -> str:
    mode = mode_name(int(saved["mode"]))
    number = f"#{int(saved['pass'])}" if saved["pass"] > 1 else ""
    return number if mode in ("train", "unknown") else f"{number}@{mode}"


def _safetensors(run: Run, output: Path, selection: ExportSelection, progress: Progress) -> Iterator[Path]:
    """One file for each file of the run: RANK/STEP.safetensors."""
    names = _names(run, selection)
    groups: dict[tuple[int, str], list[Any]] = {}
    for rank in _ranks(run, selection):
        for _, saved in _saved(rank, selection, names):
            name = tensor_file(int(saved["step"]), int(saved["file"]))
            groups.setdefault((rank.number, name), []).append(saved)
    for done, ((number, name), records) in enumerate(groups.items(), 1):
        rank = run.rank(number)
        file = output / rank.name / name
        write_file(file, rank, records)
        progress(done, len(groups))
        yield file


@dataclass(frozen=True)
class _Part:
    """Rows of a table that are read at once."""

    view: str
    rank: Rank
    first: int | None
    last: int | None


def _parts(run: Run, view: str, selection: ExportSelection) -> list[_Part]:
    parts: list[_Part] = []
    for rank in _ranks(run, selection):
        # The same division as in pack, so that each of its files is read once.
        large = view in VIEW_OF_KIND.values()
        spans = _spans(rank, selection, _STEPS_OF_FILE) if large else [(selection.first_step, selection.last_step)]
        parts += [_Part(view, rank, first, last) for first, last in spans]
    return parts


def _spans(rank: Rank, selection: ExportSelection, most: int) -> list[tuple[int | None, int | None]]:
    """Divides the selected steps into spans, both ends inclusive."""
    spans: list[tuple[int | None, int | None]] = []
    first, last = selection.first_step, selection.last_step
    end = rank.steps.last if last is None else min(last, rank.steps.last)
    for step in range(most, end, most):
        if first is None or first <= step:
            spans.append((first, step))
            first = step + 1
    return [*spans, (first, last)]


def _table(part: _Part, names: set[str] | None) -> Any:
    """The rows of a part, with plain texts instead of dictionaries, which differ from part to part."""
    pa, field = load("pyarrow", "an export of a table"), load("pyarrow.compute", "an export of a table").field
    table = views.table([part.rank], part.view, part.first, part.last)
    for at, column in enumerate(table.schema):
        if pa.types.is_dictionary(column.type):
            table = table.set_column(at, column.name, table.column(at).cast(pa.string()))
    if "step" in table.column_names and part.first is not None:
        table = table.filter(field("step") >= part.first)
    if "step" in table.column_names and part.last is not None:
        table = table.filter(field("step") <= part.last)
    if names is not None and "tensor" in table.column_names:
        table = table.filter(field("tensor").isin(sorted(names)))
    if names is not None and part.view == "nodes":
        table = table.filter(field("name").isin(sorted({split_tensor(name)[0] for name in names})))
    return table


def _csv(run: Run, output: Path, selection: ExportSelection, progress: Progress) -> Iterator[Path]:
    """The statistics."""
    writer = load("pyarrow.csv", "an export as CSV")
    names, parts = _names(run, selection), _parts(run, "statistics", selection)
    with whole_file(output) as stream:
        for done, part in enumerate(parts, 1):
            writer.write_csv(_table(part, names), stream, writer.WriteOptions(include_header=done == 1))
            progress(done, len(parts))
    yield output


def _parquet(run: Run, output: Path, selection: ExportSelection, progress: Progress) -> Iterator[Path]:
    """One file for each table."""
    parquet = load("pyarrow.parquet", "an export as Parquet")
    names = _names(run, selection)
    parts = {view: _parts(run, view, selection) for view in VIEWS}
    total, done = sum(map(len, parts.values())), 0
    for view, each in parts.items():
        file = output / f"{view}.parquet"
        schema = _table(each[0], names).schema
        with whole_file(file) as stream, parquet.ParquetWriter(stream, schema, compression="zstd") as writer:
            for part in each:
                writer.write_table(_table(part, names).cast(schema))
                done += 1
                progress(done, total)
        yield file


def _tensorboard(run: Run, output: Path, selection: ExportSelection, progress: Progress) -> Iterator[Path]:
    """Event files, in a directory of the rank if there are several; see export_events."""
    ranks, names, tags = _ranks(run, selection), _names(run, selection), _tags(run)
    spans = {rank.number: _spans(rank, selection, _STEPS_OF_RECORDS) for rank in ranks}
    saved = {rank.number: rank.saved(selection.first_step, selection.last_step).records.view(SAVED) for rank in ranks}
    total, done = sum(len(spans[rank.number]) + len(saved[rank.number]) for rank in ranks), 0

    def count() -> None:
        nonlocal done
        done += 1
        progress(done, total)

    def records(rank: Rank) -> Iterator[Any]:
        for span in spans[rank.number]:
            yield from rank.statistics(*span).records
            count()
        for each in saved[rank.number]:
            yield each
            count()

    for rank in ranks:
        named = ((_tensor_name(rank, each), each) for each in records(rank))
        tagged = (
            (tags.get(name, f"{_DEFAULT_COLLECTION}/{name}"), each)
            for name, each in named
            if names is None or name in names
        )
        yield from export_events(rank, output / rank.name if len(ranks) > 1 else output, tagged)


def _tags(run: Run) -> dict[str, str]:
    """The tag of each tensor: that of the first collection that selected it."""
    tags: dict[str, str] = {}
    for name, collection in run.collections().items():
        for tensor in collection.tensors:
            tags.setdefault(tensor, f"{name}/{tensor}")
    return tags
