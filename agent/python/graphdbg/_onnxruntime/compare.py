"""Compares a model with another, or with recorded values, tensor by tensor."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from .internal_sessions import internal_sessions
from .loading import fail, load, numpy_file, one_line
from .model import CannotSplit, Model
from .recorder import Recorded, record
from .session import PieceFailed

_DATA_FOLDER = "session.model_external_initializers_file_folder_path"
Array = Any


@dataclass
class Row:
    """How a tensor differs from its counterpart."""

    name: str
    # The largest absolute error of an element; infinite if only one of the two
    # elements is finite.
    absolute: float
    # The same relative to the larger of the two elements: at most 2, or infinite.
    relative: float
    # The cosine of the angle between the tensors as vectors, of elements that are
    # finite in both. 1 is the same direction; NaN means that there are no such
    # elements.
    cosine: float
    close: bool
    note: str = ""
    # The position in the run of the first value that differs.
    order: int = 0


def main(arguments: argparse.Namespace, inputs: Mapping[str, Array]) -> int:
    """Prints the table. Returns 1 if a tensor differs beyond the tolerance, 2 if there is nothing to compare."""
    mine = values_of(arguments.model, inputs, arguments.provider)
    if arguments.compare_to.suffix == ".npz":
        other = recorded_in(arguments.compare_to)
    else:
        other = values_of(arguments.compare_to, fitted(arguments.compare_to, inputs), arguments.provider)
    rows = list(compared(mine, other, arguments.rtol, arguments.atol))
    if not rows:
        print(
            f"graphdbg: nothing to compare: {arguments.model} and {arguments.compare_to} have no tensor names in common"
        )
        return 2
    width = max(len(row.name) for row in rows)
    print(f"{'tensor':{width}}  {'absolute':>10}  {'relative':>10}  {'cosine':>9}")
    for row in rows:
        print(f"{row.name:{width}}  {row.absolute:10.3g}  {row.relative:10.3g}  {row.cosine:9.6f}  {row.note}".rstrip())
    alone = len(mine) - len(rows)
    if alone:
        print(f"{alone} tensors of {arguments.model} do not exist in {arguments.compare_to}")
    first = min((row for row in rows if not row.close), key=lambda row: row.order, default=None)
    if first is None:
        print(f"all {len(rows)} tensors agree (rtol {arguments.rtol:g}, atol {arguments.atol:g})")
        return 0
    by = f"by {first.absolute:.3g}" if first.absolute else first.note
    print(f"first to differ: {first.name}, {by} (rtol {arguments.rtol:g}, atol {arguments.atol:g})")
    return 1


def recorded_in(file: Path) -> dict[str, list[Recorded]]:
    try:
        with numpy_file(file) as recorded:
            return {name: [Recorded(order, recorded[name])] for order, name in enumerate(recorded.files)}
    except Exception as error:
        fail(f"--compare-to: cannot read {file}: {one_line(error)}", 2)


def values_of(file: Path, inputs: Mapping[str, Array], provider: str) -> dict[str, list[Recorded]]:
    """All tensors of a model by name, in the order in which they are produced, without merged nodes."""
    for name, value in inputs.items():
        if value.dtype.kind not in "fiub":
            fail(f"--compare-to: {file} cannot be compared: its input '{name}' has strings", 2)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    with tempfile.TemporaryDirectory(prefix="graphdbg-onnx-") as folder, internal_sessions():
        try:
            model = Model.split(file, "model", Path(folder))
        except CannotSplit as error:
            fail(f"cannot load {file}: {error}")
        try:
            return record(onnxruntime, model, load(file, provider, options), inputs)
        except PieceFailed as failed:
            fail(f"{file} failed at node {failed}: {one_line(failed.__cause__ or failed)}")


def fitted(file: Path, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The inputs for another model, which may have another precision and other names for its inputs."""
    with internal_sessions():
        wanted = load(file, "CPUExecutionProvider").get_inputs()
    names = [argument.name for argument in wanted]
    if set(inputs) != set(names):
        if len(names) != len(inputs):
            fail(f"{file} has other inputs: {', '.join(names)} instead of {', '.join(inputs)}", 2)
        inputs = dict(zip(names, inputs.values(), strict=True))
    floats = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64}
    given = {argument.name: floats.get(argument.type) for argument in wanted}
    return {
        name: value.astype(given[name]) if given.get(name) is not None and value.dtype.kind == "f" else value
        for name, value in inputs.items()
    }


def compared(
    mine: Mapping[str, Sequence[Recorded]], other: Mapping[str, Sequence[Recorded]], rtol: float, atol: float
) -> Iterator[Row]:
    for name, values in mine.items():
        if name in other and all(recorded.value.dtype.kind in "fiub" for recorded in other[name]):
            yield row_of_all(name, values, other[name], rtol, atol)


def row_of_all(name: str, mine: Sequence[Recorded], other: Sequence[Recorded], rtol: float, atol: float) -> Row:
    """The largest difference of a tensor's values. A tensor inside a loop has several values."""
    rows = [
        replace(row_of(name, a.value, b.value, rtol, atol), order=a.order) for a, b in zip(mine, other, strict=False)
    ]
    first = next((number for number, row in enumerate(rows) if not row.close), None)
    notes = [rows[first or 0].note]
    if first is not None and len(rows) > 1:
        notes.append(f"value {first + 1} of {len(rows)} is the first to differ")
    if len(mine) != len(other):
        notes.append(f"{len(mine)} values against {len(other)}")
    return Row(
        name,
        absolute=max(row.absolute for row in rows),
        relative=max(row.relative for row in rows),
        cosine=float(np.fmin.reduce([row.cosine for row in rows])),
        close=first is None and len(mine) == len(other),
        note=", ".join(filter(None, notes)),
        order=mine[-1].order if first is None else rows[first].order,
    )


def row_of(name: str, a: Array, b: Array, rtol: float, atol: float) -> Row:
    if a.shape != b.shape:
        return Row(name, np.inf, np.inf, 0, False, f"shape {list(a.shape)} against {list(b.shape)}")
    a, b = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    if a.size == 0:
        return Row(name, 0, 0, 1, True)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    finite = np.isfinite(a) & np.isfinite(b)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        error = np.where(same, 0, np.where(finite, np.abs(a - b), np.inf))
        relative = np.where(same, 0, np.where(finite, error / np.maximum(np.abs(a), np.abs(b)), np.inf))
        close = bool(np.all(same | (finite & (error <= atol + rtol * np.abs(b)))))
    cosine = cosine_of(a[finite], b[finite]) if finite.any() else np.nan
    odd = int(np.sum(np.isfinite(a) != np.isfinite(b)))
    return Row(
        name, float(error.max()), float(relative.max()), cosine, close, f"{odd} finite in only one" if odd else ""
    )


def cosine_of(a: Array, b: Array) -> float:
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / lengths if lengths else float(np.array_equal(a, b))
