"""The small tables of a rank: idle units, steps, saved tensors, nodes and hits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .graph import NodeTable
from .packages import load
from .protobuf import Values
from .record import COUNTS, MAX_DIMENSIONS, MEASURES, SAVED, UNITS, Array, dtype_name
from .schema import ORIGINS
from .steps import Mark, StepIndex

VIEWS = ("statistics", "changes", "units", "steps", "tensors", "nodes", "hits")


def steps_table(marks: Iterable[Mark]) -> Any:
    """One row for each step and each pass; times are Unix ns, null where a mark is missing."""
    pa = load("pyarrow", "a table of a run")
    schema = pa.schema(
        [
            ("step", pa.int64()),
            ("mode", pa.int8()),
            ("mode_step", pa.int64()),
            ("pass", pa.int32()),
            ("begin_ns", pa.int64()),
            ("end_ns", pa.int64()),
            ("seconds", pa.float64()),
            ("records", pa.int64()),
            ("dropped", pa.int64()),
            ("tensors_dropped", pa.int64()),
            ("tensor_bytes", pa.int64()),
            ("measuring_ns", pa.int64()),
            ("reason", pa.string()),
        ]
    )
    return pa.Table.from_pylist([_step_row(mark) for mark in marks], schema)


def _step_row(mark: Mark) -> Values:
    return {
        "step": _signed(mark.step),
        "mode": _MODE_NUMBERS.get(mark.mode, 0),
        "mode_step": _signed(mark.mode_step),
        "pass": mark.pass_,
        "begin_ns": _signed(mark.begin_ns) or None,
        "end_ns": _signed(mark.end_ns) or None,
        "seconds": mark.seconds,
        "records": _signed(mark.records),
        "dropped": _signed(mark.dropped),
        "tensors_dropped": _signed(mark.tensors_dropped),
        "tensor_bytes": _signed(mark.tensor_bytes),
        "measuring_ns": _signed(mark.measuring_ns),
        "reason": mark.reason,
    }


def tensors_table(records: Array, nodes: NodeTable, steps: StepIndex) -> Any:
    """One row for each saved tensor, of records of kind 5."""
    pa = load("pyarrow", "a table of a run")
    schema = pa.schema(
        [
            ("step", pa.int64()),
            ("mode_step", pa.int64()),
            ("mode", pa.int8()),
            ("dtype", pa.int8()),
            ("pass", pa.int32()),
            ("iteration", pa.int32()),
            ("exec_order", pa.int32()),
            ("flags", pa.int32()),
            ("tensor", pa.string()),
            ("category", pa.string()),
            ("file", pa.string()),
            ("offset", pa.int64()),
            ("bytes", pa.int64()),
            ("shape", pa.list_(pa.int64())),
            ("crc", pa.int64()),
            ("grad_scale", pa.float64()),
        ]
    )
    saved = records.view(SAVED)
    rows = [
        {
            "step": _signed(int(each["step"])),
            "mode_step": mode_step,
            "mode": int(each["mode"]) & 0x7F,
            "dtype": int(each["dtype"]) & 0x7F,
            "pass": int(each["pass"]),
            "iteration": int(each["iteration"]),
            "exec_order": int(each["exec_order"]) & 0x7FFFFFFF,
            "flags": int(each["flags"]),
            "tensor": f"{nodes.name(int(each['node']))}:{int(each['slot'])}",
            "category": nodes.category(int(each["node"])),
            "file": tensor_file(int(each["step"]), int(each["file"])),
            "offset": _signed(int(each["offset"])),
            "bytes": _signed(int(each["bytes"])),
            "shape": shape_of(each),
            "crc": int(each["data_crc"]),
            "grad_scale": float(each["grad_scale"]),
        }
        for each, mode_step in zip(saved, steps.mode_steps(records).tolist(), strict=True)
    ]
    return pa.Table.from_pylist(rows, schema)


def units_table(positions: Array, records: Array, nodes: NodeTable, steps: StepIndex) -> Any:
    """One row for each count of idle units, of records of kind 8 and their positions, both of shape (n,)."""
    pa = load("pyarrow", "a table of a run")
    types = {"tensor": pa.string(), "category": pa.string(), "mode": pa.int8(), "dtype": pa.int8()}
    types |= dict.fromkeys(("pass", "iteration", "exec_order", "flags"), pa.int32())
    types |= dict.fromkeys(("lower", "upper", "below"), pa.float64())
    units = records.view(UNITS)
    columns: dict[str, list[Any]] = {
        "position": positions.view("<i8").tolist(),
        "step": units["step"].view("<i8").tolist(),
        "mode_step": steps.mode_steps(records).tolist(),
        "mode": (units["mode"] & 0x7F).tolist(),
        "dtype": (units["dtype"] & 0x7F).tolist(),
        "exec_order": (units["exec_order"] & 0x7FFFFFFF).tolist(),
        "tensor": [
            f"{nodes.name(node)}:{slot}"
            for node, slot in zip(units["node"].tolist(), units["slot"].tolist(), strict=True)
        ],
        "category": [nodes.category(node) for node in units["node"].tolist()],
        "lower": units["from"].tolist(),
        "upper": units["to"].tolist(),
        **{
            name: units[name].tolist()
            for name in ("pass", "iteration", "flags", "axis", "units", "idle_units", "below")
        },
    }
    schema = pa.schema([(name, types.get(name, pa.int64())) for name in columns])
    return pa.Table.from_pydict(columns, schema)


def shape_of(saved: Any) -> list[int]:
    """The shape of a record of kind 5."""
    return [int(size) for size in saved["shape"][: min(int(saved["ndim"]), MAX_DIMENSIONS)]]


def tensor_file(step: int, number: int) -> str:
    """The name of a file with tensors of a step, of which there may be several, from 1."""
    return f"{step:08d}{f'-{number}' if number > 1 else ''}.safetensors"


def nodes_table(nodes: NodeTable) -> Any:
    """One row for each node; `node` is its id in the records of its rank."""
    pa = load("pyarrow", "a table of a run")
    names = ("name", "scope", "op_type", "kind", "category", "graph", "forward_node", "file", "line", "function")
    schema = pa.schema(
        [("node", pa.int64())] + [(name, pa.int64() if name == "line" else pa.string()) for name in names]
    )
    rows: list[Values] = []
    for number, node in sorted(nodes.nodes.items()):
        source = node.source
        forward = node.values["forward_node_id"]
        rows.append(
            {
                "node": number,
                "name": node.name,
                "scope": node.name.rpartition("/")[0],
                "op_type": node.op_type,
                "kind": node.kind,
                "category": node.category,
                "graph": node.graph,
                "forward_node": nodes.name(forward) if forward else None,
                "file": source.file if source else None,
                "line": source.line if source else None,
                "function": source.function if source else None,
            }
        )
    return pa.Table.from_pylist(rows, schema)


def hits_table(hits: Sequence[Values], nodes: NodeTable) -> Any:
    """One row for each hit, with the fields of the message Hit; statistics are columns."""
    pa = load("pyarrow", "a table of a run")
    fields = [
        ("number", pa.int64()),
        ("watchpoint", pa.int64()),
        ("revision", pa.int64()),
        ("step", pa.int64()),
        ("tensor", pa.string()),
        ("category", pa.string()),
        ("op_type", pa.string()),
        ("exec_order", pa.int64()),
        ("dtype", pa.string()),
        ("shape", pa.list_(pa.int64())),
        ("actual", pa.map_(pa.string(), pa.float64())),
        *((name, pa.int64()) for name in COUNTS),
        *((name, pa.float64()) for name in MEASURES),
        ("origin", pa.string()),
        ("absorbed", pa.bool_()),
        ("file", pa.string()),
        ("line", pa.int64()),
        ("function", pa.string()),
        ("error", pa.string()),
        ("message", pa.string()),
        ("time_ns", pa.int64()),
    ]
    return pa.Table.from_pylist([_hit_row(number, hit, nodes) for number, hit in enumerate(hits, 1)], pa.schema(fields))


def _hit_row(number: int, hit: Values, nodes: NodeTable) -> Values:
    node = nodes.nodes.get(hit["node_id"])
    source = hit["source"] or {"file": None, "line": None, "function": None}
    kind = hit["type"] or {"dtype": 0, "shape": []}
    statistics = hit["statistics"] or dict.fromkeys((*COUNTS, *MEASURES))
    return {
        "number": _signed(hit["number"]) or number,
        "watchpoint": _signed(hit["watchpoint"]),
        "revision": _signed(hit["revision"]),
        "step": _signed(hit["step"]),
        "tensor": f"{nodes.name(hit['node_id'])}:{hit['slot']}",
        "category": nodes.category(hit["node_id"]),
        "op_type": node.op_type if node else "",
        "exec_order": _signed(hit["order"]),
        "dtype": dtype_name(kind["dtype"]),
        "shape": kind["shape"],
        "actual": list(hit["actual"].items()),
        **{name: _signed(statistics[name] or 0) if hit["statistics"] else None for name in COUNTS},
        **{name: statistics[name] for name in MEASURES},
        "origin": ORIGINS[hit["origin"]] if hit["origin"] < len(ORIGINS) else ORIGINS[0],
        "absorbed": hit["absorbed"],
        "file": source["file"],
        "line": source["line"],
        "function": source["function"],
        "error": hit["error"],
        "message": hit["message"],
        "time_ns": hit["time_unix_nano"],
    }


def _signed(number: int) -> int:
    """A number of 64 bits as Arrow's int64 has it."""
    return number - (1 << 64) if number >> 63 else number


_MODE_NUMBERS = {"unknown": 0, "train": 1, "eval": 2, "predict": 3}
