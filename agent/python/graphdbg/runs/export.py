"""Exports of a run: npy, safetensors, CSV, TensorBoard and Parquet."""

from __future__ import annotations

import socket
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
from graphdbg.client.errors import USAGE, GraphdbgError

from .errors import NotRecorded
from .files import whole_file
from .packages import load
from .rank import Rank
from .record import SAVED, Array
from .run import Run
from .safetensors import write_file
from .saved import value_of_scalar
from .tables import VIEWS, tensor_file
from .tensorboard import EventFile

FORMATS = ("npy", "safetensors", "csv", "tensorboard", "parquet")
# The measures that TensorBoard shows of tensors with more than one element.
_SCALARS = ("mean", "abs_mean", "abs_max", "l2")
_DEFAULT_COLLECTION = "tensors"
_ROWS_AT_ONCE = 1 << 16


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

    Args:
        run: The run.
        kind: One of FORMATS.
        output: The directory, which is made; of CSV, the file.
        selection: What is exported.
        progress: Receives how many values, steps or tables of how many have been written.

    Raises:
        NotRecorded: Nothing that was recorded is selected.
        GraphdbgError: The format is not one of these, or the selection is invalid.
        DataLossError: A saved value is damaged.
        OSError: A file cannot be written.
    """
    if kind not in FORMATS:
        raise GraphdbgError(f"no format {kind}; there are {', '.join(FORMATS)}", USAGE)
    writers = {"npy": _npy, "safetensors": _safetensors, "csv": _csv, "tensorboard": _tensorboard, "parquet": _parquet}
    files = list(writers[kind](run, output, selection, progress))
    if not files:
        raise NotRecorded(f"nothing to export as {kind}: no value that is selected was saved")
    return Exported(tuple(files))


def _ranks(run: Run, selection: ExportSelection) -> list[Rank]:
    return [run.rank(number) for number in selection.ranks or run.ranks]


def _names(run: Run, selection: ExportSelection) -> set[str] | None:
    if selection.tensors is None and selection.collection is None:
        return None
    return set(run.tensors(selection.tensors, collection=selection.collection))


def _saved(rank: Rank, selection: ExportSelection, names: set[str] | None) -> Iterator[tuple[str, Any]]:
    for each in rank.saved(selection.first_step, selection.last_step).records.view(SAVED):
        name = _tensor_name(rank, each)
        if names is None or name in names:
            yield name, each


def _tensor_name(rank: Rank, record: Any) -> str:
    return f"{rank.nodes.name(int(record['node']))}:{int(record['slot'])}"


def _npy(run: Run, output: Path, selection: ExportSelection, progress: Progress) -> Iterator[Path]:
    """One file for each value: RANK/STEP/NAME.npy, with / in names as %2F; bfloat16 and float8 as float32."""
    names = _names(run, selection)
    values = [(rank, *each) for rank in _ranks(run, selection) for each in _saved(rank, selection, names)]
    for done, (rank, name, saved) in enumerate(values, 1):
        pass_ = f"#{int(saved['pass'])}" if saved["pass"] > 1 else ""
        value = _for_numpy(rank.read_saved(saved))
        directory = output / rank.name / f"{int(saved['step']):08d}"
        file = directory / f"{urllib.parse.quote(name + pass_, safe=' ')}.npy"
        with whole_file(file) as stream:
            numpy.save(stream, value, allow_pickle=False)
        progress(done, len(values))
        yield file


def _for_numpy(value: Array) -> Array:
    return value if value.dtype.isbuiltin == 1 else value.astype("f4")


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


def _table(run: Run, view: str, selection: ExportSelection) -> Any:
    compute = load("pyarrow.compute", "an export of a table")
    if view == "statistics":
        names = _names(run, selection)
        parts = [
            run.statistics(steps=(selection.first_step, selection.last_step), rank=rank.number, tensors=names)
            for rank in _ranks(run, selection)
        ]
        return load("pyarrow", "an export of a table").concat_tables(parts, promote_options="permissive")
    table = run.table(view)
    if selection.ranks is not None:
        table = table.filter(compute.field("rank").isin(list(selection.ranks)))
    if "step" in table.column_names and (selection.first_step is not None or selection.last_step is not None):
        first, last = selection.first_step or 0, selection.last_step
        wanted = compute.field("step") >= first
        table = table.filter(wanted if last is None else wanted & (compute.field("step") <= last))
    return table


def _csv(run: Run, output: Path, selection: ExportSelection, progress: Progress) -> Iterator[Path]:
    """The statistics."""
    writer = load("pyarrow.csv", "an export as CSV")
    table = _table(run, "statistics", selection)
    strings = load("pyarrow", "an export as CSV").string()
    for name in ("tensor", "category"):
        at = table.column_names.index(name)
        table = table.set_column(at, name, table.column(name).cast(strings))
    with whole_file(output) as stream:
        for done, batch in enumerate(batches := table.to_batches(_ROWS_AT_ONCE), 1):
            writer.write_csv(batch, stream, writer.WriteOptions(include_header=done == 1))
            progress(done, len(batches))
    yield output


def _parquet(run: Run, output: Path, selection: ExportSelection, progress: Progress) -> Iterator[Path]:
    """One file for each table."""
    parquet = load("pyarrow.parquet", "an export as Parquet")
    for done, view in enumerate(VIEWS, 1):
        file = output / f"{view}.parquet"
        with whole_file(file) as stream:
            parquet.write_table(_table(run, view, selection), stream, compression="zstd")
        progress(done, len(VIEWS))
        yield file


def _tensorboard(run: Run, output: Path, selection: ExportSelection, progress: Progress) -> Iterator[Path]:
    """One file of events for each rank, in a directory of the rank if there are several."""
    names = _names(run, selection)
    tags = _tags(run)
    ranks = _ranks(run, selection)
    for rank in ranks:
        marks = rank.steps.marks.values()
        begins = {mark.step: mark.begin_ns / 1e9 for mark in marks if mark.begin_ns and mark.pass_ == 0}
        start = min(begins.values(), default=0.0)
        directory = output / rank.name if len(ranks) > 1 else output
        file = directory / f"events.out.tfevents.{int(start)}.{socket.gethostname()}.{rank.number}.graphdbg"
        with whole_file(file) as stream:
            events = EventFile(stream, start)
            _write_scalars(events, rank, selection, names, tags, begins, progress)
            for name, saved in _saved(rank, selection, names):
                step = int(saved["step"])
                value = _for_numpy(rank.read_saved(saved))
                if value.dtype.kind in "biuf":
                    events.histogram(step, begins.get(step, start), _tag(tags, name), value)
        yield file


def _write_scalars(
    events: EventFile,
    rank: Rank,
    selection: ExportSelection,
    names: set[str] | None,
    tags: dict[str, str],
    begins: dict[int, float],
    progress: Progress,
) -> None:
    first, last = selection.first_step or 0, selection.last_step
    steps = [step for step in rank.steps.steps() if first <= step and (last is None or step <= last)]
    for done, step in enumerate(steps, 1):
        values: list[tuple[str, float]] = []
        for record in rank.statistics(step, step).records:
            name = _tensor_name(rank, record)
            if names is None or name in names:
                values += _scalars(record, _tag(tags, name))
        if values:
            events.scalars(step, begins.get(step, 0.0), values)
        progress(done, len(steps))


def _scalars(record: Any, tag: str) -> list[tuple[str, float]]:
    if record["count"] == 1:
        return [(tag, float(value_of_scalar(record, ())))]
    return [(f"{tag}/{name}", float(record[name])) for name in _SCALARS if not numpy.isnan(record[name])]


def _tags(run: Run) -> dict[str, str]:
    """The tag of each tensor: that of the first collection that selected it."""
    tags: dict[str, str] = {}
    for name, collection in run.collections().items():
        for tensor in collection.tensors:
            tags.setdefault(tensor, f"{name}/{tensor}")
    return tags


def _tag(tags: dict[str, str], name: str) -> str:
    return tags.get(name, f"{_DEFAULT_COLLECTION}/{name}")
