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
from .model import CannotSplit, Model

_DATA_FOLDER = "session.model_external_initializers_file_folder_path"
Array = Any


@dataclass
class Row:
    """How a tensor differs from its counterpart."""

    name: str
    # Largest of all elements; infinite where one is finite and the other is not.
    absolute: float
    # To the larger of the two numbers: at most 2.
    relative: float
    # Of the angle between the two as vectors; 1: the same direction.
    cosine: float
    close: bool
    note: str = ""


def main(arguments: argparse.Namespace, inputs: Mapping[str, Array]) -> int:
    """Prints the table; 1 if a tensor differs beyond tolerance, 2 if nothing could be compared."""
    mine = values_of(arguments.model, inputs, arguments.provider)
    if arguments.compare_to.suffix == ".npz":
        with np.load(arguments.compare_to, allow_pickle=False) as recorded:
            other = {name: recorded[name] for name in recorded.files}
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


def values_of(file: Path, inputs: Mapping[str, Array], provider: str) -> dict[str, Array]:
    """All tensors of a model by name, in the order in which they are made, nodes unmerged."""
    with tempfile.TemporaryDirectory(prefix="graphdbg-onnx-") as folder, own_sessions():
        try:
            model = Model.split(file, "model", Path(folder))
        except CannotSplit as error:
            raise SystemExit(f"graphdbg: {error}") from None
        names = [name for node in model.graph.nodes for name in node.outputs if name]
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.add_session_config_entry(_DATA_FOLDER, model.data_folder)
        whole = onnxruntime.InferenceSession(file, options, providers=[provider])
        types = {argument.name: argument.type for argument in whole.get_inputs()}
        marked = onnxruntime.InferenceSession(
            model.piece(model.graph, 0, len(model.graph.nodes), types, names), options, providers=[provider]
        )
        made = marked.run(names, dict(inputs))
    return {name: value for name, value in zip(names, made, strict=True) if isinstance(value, np.ndarray)}


def fitted(file: Path, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The inputs as another model wants them: it may be of another precision, or name its only input otherwise."""
    with own_sessions():
        wanted = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"]).get_inputs()
    if set(inputs) != {argument.name for argument in wanted} and len(wanted) == len(inputs):
        inputs = dict(zip((argument.name for argument in wanted), inputs.values(), strict=True))
    floats = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64}
    given = {argument.name: floats.get(argument.type) for argument in wanted}
    return {
        name: value.astype(given[name]) if given.get(name) is not None and value.dtype.kind == "f" else value
        for name, value in inputs.items()
    }


def compared(mine: Mapping[str, Array], other: Mapping[str, Array], rtol: float, atol: float) -> Iterator[Row]:
    for name, value in mine.items():
        if name in other and value.dtype.kind in "fiub":
            yield row_of(name, value, other[name], rtol, atol)


def row_of(name: str, a: Array, b: Array, rtol: float, atol: float) -> Row:
    if a.shape != b.shape:
        return Row(name, np.inf, np.inf, 0, False, f"shape {list(a.shape)} against {list(b.shape)}")
    a, b = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    if a.size == 0:
        return Row(name, 0, 0, 1, True)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        error = np.where(same, 0, np.abs(a - b))
        error = np.where(np.isnan(error), np.inf, error)
        relative = np.where(same, 0, error / np.maximum(np.abs(a), np.abs(b)))
        close = bool(np.all(same | (error <= atol + rtol * np.abs(b))))
    finite = np.isfinite(a) & np.isfinite(b)
    lengths = float(np.linalg.norm(a[finite]) * np.linalg.norm(b[finite]))
    cosine = float(a[finite] @ b[finite]) / lengths if lengths else float(np.array_equal(a[finite], b[finite]))
    odd = int(np.sum(np.isfinite(a) != np.isfinite(b)))
    return Row(
        name, float(error.max()), float(relative.max()), cosine, close, f"{odd} not finite in one" if odd else ""
    )
