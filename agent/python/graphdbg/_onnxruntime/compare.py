"""Compares a model with another, or with recorded values, tensor by tensor."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from .follow import own_sessions
from .loading import fail, load, numpy_file, one_line
from .model import CannotSplit, Model

_DATA_FOLDER = "session.model_external_initializers_file_folder_path"
Array = Any


@dataclass
class Row:
    """How a tensor differs from its counterpart."""

    name: str
    # Largest of all elements; infinite where one is finite and the other is not.
    absolute: float
    # To the larger of the two numbers: at most 2, or infinite as above.
    relative: float
    # Of the angle between the two as vectors, as far as both are finite; 1: the
    # same direction; NaN: there are no such numbers.
    cosine: float
    close: bool
    note: str = ""


def main(arguments: argparse.Namespace, inputs: Mapping[str, Array]) -> int:
    """Prints the table; 1 if a tensor differs beyond tolerance, 2 if nothing could be compared."""
    mine = values_of(arguments.model, inputs, arguments.provider)
    if arguments.compare_to.suffix == ".npz":
        other = recorded_in(arguments.compare_to)
    else:
        other = values_of(arguments.compare_to, fitted(arguments.compare_to, inputs), arguments.provider)
    rows = list(compared(mine, other, arguments.rtol, arguments.atol))
    if not rows:
        print(f"graphdbg: {arguments.model} and {arguments.compare_to} have no tensor of the same name")
        return 2
    width = max(len(row.name) for row in rows)
    print(f"{'tensor':{width}}  {'absolute':>10}  {'relative':>10}  {'cosine':>9}")
    for row in rows:
        print(f"{row.name:{width}}  {row.absolute:10.3g}  {row.relative:10.3g}  {row.cosine:9.6f}  {row.note}".rstrip())
    first = next((row for row in rows if not row.close), None)
    if first is None:
        print(f"all {len(rows)} tensors agree (rtol {arguments.rtol:g}, atol {arguments.atol:g})")
        return 0
    print(f"first to differ: {first.name}, by {first.absolute:.3g} (rtol {arguments.rtol:g}, atol {arguments.atol:g})")
    return 1


def recorded_in(file: Path) -> dict[str, Array]:
    try:
        with numpy_file(file) as recorded:
            return {name: recorded[name] for name in recorded.files}
    except Exception as error:
        fail(f"--compare-to: {file} cannot be read: {one_line(error)}", 2)


def values_of(file: Path, inputs: Mapping[str, Array], provider: str) -> dict[str, Array]:
    """All tensors of a model by name, in the order in which they are made, nodes unmerged."""
    with tempfile.TemporaryDirectory(prefix="graphdbg-onnx-") as folder, own_sessions():
        try:
            model = Model.split(file, "model", Path(folder))
        except CannotSplit as error:
            fail(f"{file} cannot be loaded: {error}")
        names = [name for node in model.graph.nodes for name in node.outputs if name]
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.add_session_config_entry(_DATA_FOLDER, model.data_folder)
        types = {argument.name: argument.type for argument in load(file, provider, options).get_inputs()}
        marked = load(file, provider, options, model.piece(model.graph, 0, len(model.graph.nodes), types, names))
        try:
            made = marked.run(names, dict(inputs))
        except Exception as error:
            fail(f"{file} failed: {one_line(error)}")
    return {name: value for name, value in zip(names, made, strict=True) if isinstance(value, np.ndarray)}


def fitted(file: Path, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The inputs as another model wants them: it may be of another precision, or name them otherwise."""
    with own_sessions():
        wanted = load(file, "CPUExecutionProvider").get_inputs()
    names = [argument.name for argument in wanted]
    if set(inputs) != set(names):
        if len(names) != len(inputs):
            fail(f"{file} wants other inputs: {', '.join(names)} instead of {', '.join(inputs)}", 2)
        inputs = dict(zip(names, inputs.values(), strict=True))
    floats = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64}
    given = {argument.name: floats.get(argument.type) for argument in wanted}
    return {
        name: value.astype(given[name]) if given.get(name) is not None and value.dtype.kind == "f" else value
        for name, value in inputs.items()
    }


def compared(mine: Mapping[str, Array], other: Mapping[str, Array], rtol: float, atol: float) -> Iterator[Row]:
    for name, value in mine.items():
        if name in other and {value.dtype.kind, other[name].dtype.kind} <= set("fiub"):
            yield row_of(name, value, other[name], rtol, atol)


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
        name, float(error.max()), float(relative.max()), cosine, close, f"{odd} not finite in one" if odd else ""
    )


def cosine_of(a: Array, b: Array) -> float:
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / lengths if lengths else float(np.array_equal(a, b))
