"""Writes directories as MindSpore's dumps do, from the graph of a LeNet and values of NumPy.

Layouts and names are those of MindSpore's documentation and of the programs that write them
(`e2e_dump.cc`, `ascend_dump.cc`, `dump_json_parser.cc`, `tensor_stat_dump.cc`).
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
from graphdbg.runs.protobuf import Field, decode

GRAPH = Path(__file__).resolve().parents[1] / "integration" / "testdata" / "lenet_graph.pb"
NET = "LeNet"
BEGIN_US = 1_623_124_369_613_540
# By MindSpore's number of the type.
TYPES = {4: "int32", 5: "int64", 10: "float16", 11: "float32"}
# By the number in dump_data.proto.
MESSAGE_TYPES = {"float32": 1, "float16": 2, "int32": 7, "int64": 8}

_TENSOR = {
    1: Field("elem_type", "uint"),
    2: Field("shape", "message", {1: Field("dim", "message", {1: Field("size", "int")}, repeated=True)}),
}
_ONE = {1: Field("data_type", "uint"), 2: Field("tensor_type", "message", _TENSOR)}
_TYPE = {**_ONE, 3: Field("sequence_type", "message", {1: Field("elem_types", "message", _ONE, repeated=True)})}
_NODE = {
    2: Field("name", "string"),
    3: Field("op_type", "string"),
    6: Field("output_type", "message", _TYPE),
    8: Field("full_name", "string"),
}
_GRAPH = {1: Field("node", "message", _NODE, repeated=True)}


@dataclass(frozen=True)
class Op:
    full_name: str
    op_type: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def name(self) -> str:
        """Without scopes."""
        return self.full_name.rsplit("/", 1)[-1]


Array = numpy.ndarray[Any, Any]
Values = Callable[[Op, int, int], Array]


def ops() -> list[Op]:
    """The ops with one output whose type and shape are known, in topological order."""
    found = []
    for node in decode(GRAPH.read_bytes(), _GRAPH)["node"]:
        tensor = (node["output_type"] or {}).get("tensor_type")
        if tensor and tensor["elem_type"] in TYPES and node["op_type"] != "tuple_getitem":
            shape = tuple(dim["size"] for dim in (tensor["shape"] or {"dim": []})["dim"])
            found.append(Op(node["full_name"], node["op_type"], TYPES[tensor["elem_type"]], shape))
    return found


def values(op: Op, rank: int, iteration: int) -> Array:
    """The output of an op: the same whenever this is called."""
    random = numpy.random.default_rng([zlib.crc32(op.full_name.encode()), rank, iteration])
    return (random.standard_normal(op.shape) * 4).astype(op.dtype)


def write_dump(
    directory: Path, ranks: int = 1, iterations: int = 3, layout: str = "npy", values: Values = values
) -> Path:
    """Writes a dump.

    Args:
        directory: Where the dump is to be, as the `path` of data_dump.json.
        layout: "npy": synchronous, 1.3 and later. "bin": asynchronous, one protobuf file for each op.
            "inline": the same as older devices write it. "statistic": statistic.csv without values.
            "1.1": flat files of synchronous dumps of 1.0 and 1.1.
        values: What each op computes.
    """
    for rank in range(ranks):
        home = directory / NET / f"device_{rank}" if layout == "1.1" else directory / f"rank_{rank}"
        write_graph(home, iterations)
        write_metadata(directory / ".metadata" if layout == "1.1" else home / ".dump_metadata")
        for iteration in range(iterations):
            folder = home / f"iteration_{iteration}" if layout == "1.1" else home / NET / "0" / str(iteration)
            folder.mkdir(parents=True)
            for order, op in enumerate(ops()):
                time_us = BEGIN_US + iteration * 1_000_000 + order
                _WRITERS[layout](folder, op, values(op, rank, iteration), order, time_us)
    return directory


def write_metadata(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"dump_mode": 0, "net_name": NET, "iteration": "all", "saved_data": "tensor", "input_output": 2}
    (folder / "data_dump.json").write_text(json.dumps({"common_dump_settings": settings}))
    (folder / "config.json").write_text(json.dumps({"device_target": "GPU", "ms_version": "2.0.0"}))
    (folder / "hccl.json").write_text("{}")


def write_graph(home: Path, iterations: int) -> None:
    for name in ("graphs", "execution_order"):
        (home / name).mkdir(parents=True)
    graph = GRAPH.read_bytes()
    (home / "graphs" / "ms_output_trace_code_graph_0.pb").write_bytes(_bytes_field(4, graph))
    (home / "graphs" / "ms_output_trace_code_graph_0.ir").write_text("#IR entry : @kernel_graph_0\n")
    order = "".join(f"{op.full_name}\n" for op in ops())
    (home / "execution_order" / "ms_execution_order_graph_0.csv").write_text(f"NodeName\n{order}")
    history = "".join(f"{iteration}\n" for iteration in range(iterations))
    (home / "execution_order" / "ms_global_execution_order_graph_0.csv").write_text(history)


def _write_npy(folder: Path, op: Op, array: Array, order: int, time_us: int) -> None:
    numpy.save(folder / f"{op.op_type}.{op.name}.0.0.{time_us}.output.0.DefaultFormat.npy", array)


def _write_flat(folder: Path, op: Op, array: Array, order: int, time_us: int) -> None:
    sizes = "".join(f"_{size}" for size in op.shape)
    dtype = {"int32": "Int32", "int64": "Int64", "float16": "Float16", "float32": "Float32"}[op.dtype]
    name = op.full_name.replace("/", "--")
    (folder / f"{name}_output_0_shape{sizes}_{dtype}_DefaultFormat.bin").write_bytes(array.tobytes())


def _write_statistics(folder: Path, op: Op, array: Array, order: int, time_us: int) -> None:
    columns = "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,"
    columns += "Avg Value,Count,Negative Zero Count,Positive Zero Count,NaN Count,Negative Inf Count,"
    columns += "Positive Inf Count,Zero Count\n"
    path = folder / "statistic.csv"
    finite = array[numpy.isfinite(array)].astype("float64")
    extremes = [finite.max(), finite.min(), finite.mean()] if finite.size else ["null"] * 3
    shape = '"(' + ",".join(map(str, op.shape)) + ')"'
    row = [op.op_type, op.name, 0, 0, time_us, "output", 0, array.nbytes, op.dtype, shape, *extremes, array.size]
    row += [(array < 0).sum(), (array > 0).sum(), numpy.isnan(array).sum()]
    row += [(array == -numpy.inf).sum(), (array == numpy.inf).sum(), (array == 0).sum()]
    with path.open("a") as file:
        file.write(columns if file.tell() == 0 else "")
        file.write(",".join(map(str, row)) + "\n")


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


def _bytes_field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _number_field(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def message(op: Op, array: Array, inline: bool) -> bytes:
    """A DumpData with one output."""
    shape = _bytes_field(1, b"".join(_varint(size) for size in op.shape))
    output = _number_field(1, MESSAGE_TYPES[op.dtype]) + _number_field(2, 2) + _bytes_field(3, shape)
    output += _bytes_field(5, array.tobytes()) if inline else b""
    output += _number_field(6, array.nbytes)
    return _bytes_field(1, b"1.0") + _bytes_field(3, output) + _bytes_field(6, op.full_name.encode())


def _async_name(op: Op, order: int, time_us: int) -> str:
    return f"{op.op_type}.{op.full_name.replace('/', '_')}.{order + 1}.7.{time_us}"


def _write_message(folder: Path, op: Op, array: Array, order: int, time_us: int) -> None:
    header = message(op, array, inline=False)
    content = struct.pack("<Q", len(header)) + header + array.tobytes()
    _write_named(folder, _async_name(op, order, time_us), content, order)


def _write_inline(folder: Path, op: Op, array: Array, order: int, time_us: int) -> None:
    _write_named(folder, _async_name(op, order, time_us), message(op, array, inline=True), order)


def _write_named(folder: Path, name: str, content: bytes, order: int) -> None:
    """Every seventh name counts as too long for the file system."""
    if order % 7 == 0:
        short = str(10**15 + order)
        with (folder / "mapping.csv").open("a") as file:
            file.write(f"{short},{name}\n")
        name = short
    (folder / name).write_bytes(content)


_WRITERS: dict[str, Callable[[Path, Op, Array, int, int], None]] = {
    "npy": _write_npy,
    "bin": _write_message,
    "inline": _write_inline,
    "statistic": _write_statistics,
    "1.1": _write_flat,
}
