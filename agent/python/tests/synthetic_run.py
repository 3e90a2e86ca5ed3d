"""Writes recorded runs for tests and measurements, byte by byte as proto/docs/run-format.md describes them."""

from __future__ import annotations

import fcntl
import itertools
import json
import socket
import struct
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy
from graphdbg.runs.crc32c import crc32c, crcs_at, record_crcs
from graphdbg.runs.record import (
    BEGIN_KIND,
    CHANGE,
    CHANGE_KIND,
    COUNTS,
    END_KIND,
    HIT,
    HIT_KIND,
    MARK,
    MEASURES,
    RECORD,
    SAVED,
    SAVED_KIND,
    STATISTICS_KIND,
    UNITS,
    UNITS_KIND,
)

Array = numpy.ndarray[Any, Any]
TRAIN, EVAL = 1, 2
FLOAT32 = 12
START_NS = 1_700_000_000_000_000_000
STEP_NS = 50_000_000
RING_CAPACITY = 209_689

# Numbers of data types in tensor.proto, and their names in safetensors, by NumPy's name.
DTYPES = {
    "bool": (1, "BOOL"),
    "int64": (5, "I64"),
    "uint8": (6, "U8"),
    "float16": (10, "F16"),
    "bfloat16": (11, "BF16"),
}
DTYPES |= {"float32": (12, "F32"), "float64": (13, "F64"), "complex128": (15, "F64")}


# --- messages of proto/graphdbg/v1


def varint(number: int) -> bytes:
    encoded = bytearray()
    number &= (1 << 64) - 1
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


def number_field(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value) if value else b""


def bytes_field(number: int, content: bytes | str) -> bytes:
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def double_field(number: int, value: float) -> bytes:
    return varint(number << 3 | 1) + struct.pack("<d", value)


@dataclass
class Node:
    """A node of the graph; `inputs` are pairs of a node's id and a slot."""

    name: str
    category: int = 0
    kind: int = 1
    op_type: str = "aten::add"
    inputs: Sequence[tuple[int, int]] = ()
    shapes: Sequence[Sequence[int]] = ((4, 8),)
    dtype: int = FLOAT32
    file: str = "/home/me/train.py"
    line: int = 7
    text: str = "y = f(x)"
    first_step: int = 0
    forward: int = 0
    alpha: str = "1"

    def encode(self, number: int) -> bytes:
        outputs = [
            number_field(1, slot)
            + bytes_field(2, number_field(1, self.dtype) + bytes_field(2, b"".join(map(varint, shape))))
            for slot, shape in enumerate(self.shapes)
        ]
        frame = bytes_field(1, self.file) + number_field(2, self.line) + bytes_field(3, "forward")
        frame += bytes_field(4, self.text) + number_field(5, 1)
        return b"".join(
            [
                number_field(1, number),
                bytes_field(2, self.name),
                number_field(3, self.kind),
                bytes_field(4, self.op_type),
                number_field(5, self.category),
                *(bytes_field(6, number_field(1, node) + number_field(2, slot)) for node, slot in self.inputs),
                *(bytes_field(7, output) for output in outputs),
                bytes_field(8, frame),
                bytes_field(9, bytes_field(1, "alpha") + bytes_field(2, self.alpha)),
                number_field(10, number),
                number_field(11, self.first_step),
                number_field(12, self.forward),
            ]
        )


def messages(kind: int, bodies: Iterable[bytes]) -> bytes:
    content = struct.pack("<7sBII", b"GDBGMSG", 1, kind, 0)
    return content + b"".join(struct.pack("<II", len(body), crc32c(body)) + body for body in bodies)


def user_change_message(step: int, node: int = 0, text: str = "learning rate 0.1 -> 0") -> bytes:
    fields = [number_field(1, step), number_field(2, START_NS), bytes_field(3, "alice"), bytes_field(4, text)]
    return b"".join([*fields, number_field(5, node)])


def hit_message(step: int, node: int, watchpoint: int = 1, slot: int = 0) -> bytes:
    statistics = number_field(1, 32) + number_field(2, 3) + double_field(8, -1.0) + double_field(9, 5.0)
    return b"".join(
        [
            number_field(1, watchpoint),
            number_field(3, step),
            number_field(4, node),
            number_field(5, slot),
            number_field(6, node),
            bytes_field(7, bytes_field(1, "nan_count") + double_field(2, 3.0)),
            bytes_field(8, statistics),
            number_field(9, 1),
            bytes_field(10, bytes_field(1, "/home/me/train.py") + number_field(2, 7)),
            number_field(12, START_NS),
            bytes_field(13, number_field(1, FLOAT32) + bytes_field(2, varint(4) + varint(8))),
            number_field(14, 1),
        ]
    )


# --- records


def statistics_records(nodes: Array, step: int, values: Mapping[str, Any], mode: int = TRAIN, pass_: int = 1) -> Array:
    """Records of statistics for output 0 of nodes, in their order."""
    records = numpy.zeros(len(nodes), RECORD)
    records["kind"], records["step"], records["mode"], records["pass"] = STATISTICS_KIND, step, mode, pass_
    records["node"], records["dtype"], records["grad_scale"] = nodes, FLOAT32, 1
    records["exec_order"] = numpy.arange(1, len(nodes) + 1)
    for name, value in values.items():
        records[name] = value
    return records


def statistics_of(values: Array) -> dict[str, Any]:
    """The statistics of a tensor's elements."""
    elements = numpy.asarray(values, "f8").ravel()
    finite = elements[numpy.isfinite(elements)]
    found: dict[str, Any] = dict(zip(COUNTS, (elements.size, *(0,) * 6), strict=True)) | dict.fromkeys(
        MEASURES, numpy.nan
    )
    found["nan_count"] = numpy.isnan(elements).sum()
    found["pos_inf_count"], found["neg_inf_count"] = (elements == numpy.inf).sum(), (elements == -numpy.inf).sum()
    found["zero_count"] = (finite == 0).sum()
    found["negative_count"], found["positive_count"] = (finite < 0).sum(), (finite > 0).sum()
    if finite.size:
        absolute = numpy.abs(finite)
        found |= {"min": finite.min(), "max": finite.max(), "mean": finite.mean(), "variance": finite.var()}
        found |= {"abs_mean": absolute.mean(), "abs_max": absolute.max(), "l1": absolute.sum()}
        found["l2"] = numpy.sqrt((finite**2).sum())
    return found


def mark(kind: int, step: int, mode: int = TRAIN, pass_: int = 0, mode_step: int | None = None, **fields: int) -> Array:
    record = numpy.zeros(1, MARK)
    record["kind"], record["step"], record["mode"], record["pass"] = kind, step, mode, pass_
    ended = kind == END_KIND
    record["unix_ns"] = START_NS + step * STEP_NS + ended * STEP_NS // 2
    record["monotonic_ns"] = 10**9 + step * STEP_NS + ended * STEP_NS // 2
    record["mode_step"] = step if mode_step is None else mode_step
    for name, value in fields.items():
        record[name] = value
    return record.view(RECORD)


def hit_record(step: int, node: int, number: int) -> Array:
    record = numpy.zeros(1, HIT)
    record["kind"], record["step"], record["mode"], record["pass"] = HIT_KIND, step, TRAIN, 1
    record["node"], record["number"], record["watchpoint"] = node, number, 1
    return record.view(RECORD)


def change_record(step: int, node: int, **fields: Any) -> Array:
    record = numpy.zeros(1, CHANGE)
    record["kind"], record["step"], record["mode"], record["pass"] = CHANGE_KIND, step, TRAIN, 1
    record["node"], record["dtype"], record["compared_step"] = node, FLOAT32, step - 1
    for name, value in fields.items():
        record[name] = value
    return record.view(RECORD)


def units_record(step: int, node: int, units: int, idle_units: int, **fields: Any) -> Array:
    record = numpy.zeros(1, UNITS)
    record["kind"], record["step"], record["mode"], record["pass"] = UNITS_KIND, step, TRAIN, 1
    record["node"], record["dtype"], record["axis"], record["below"] = node, FLOAT32, 1, 1
    record["units"], record["idle_units"], record["to"] = units, idle_units, numpy.inf
    for name, value in fields.items():
        record[name] = value
    return record.view(RECORD)


# --- a rank's directory


@dataclass
class SyntheticRank:
    """Gathers what a rank records, and writes its directory."""

    directory: Path
    number: int = 0
    world_size: int = 1
    run: str = "run"
    nodes: list[Node] = field(default_factory=list)
    records: list[Array] = field(default_factory=list)
    hits: list[bytes] = field(default_factory=list)
    user_changes: list[bytes] = field(default_factory=list)
    collections: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    info: dict[str, Any] = field(default_factory=dict)
    incarnation: bytes = field(default_factory=lambda: uuid.uuid4().bytes)
    _saved: dict[int, list[tuple[str, Array, bytes]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.path / "log").mkdir(parents=True, exist_ok=True)

    @property
    def path(self) -> Path:
        return self.directory / f"rank-{self.number:05d}"

    def add(self, *records: Array) -> None:
        self.records += records

    def save(
        self, step: int, node: int, value: Array, dtype: str | None = None, pass_: int = 1, mode: int = TRAIN
    ) -> None:
        """Saves a tensor: its record, and its bytes in the file of the step."""
        content = numpy.ascontiguousarray(value).tobytes()
        name = dtype or value.dtype.name
        kept = self._saved.setdefault(step, [])
        record = numpy.zeros(1, SAVED)
        record["kind"], record["step"], record["mode"], record["pass"] = SAVED_KIND, step, mode, pass_
        record["node"], record["dtype"], record["grad_scale"] = node, DTYPES[name][0], 1
        record["offset"], record["bytes"] = sum(len(each[2]) for each in kept), len(content)
        record["file"], record["ndim"], record["data_crc"] = 1, value.ndim, crc32c(content)
        record["shape"][0, : value.ndim] = value.shape
        key = f"{self.nodes[node - 1].name}:0" + (f"#{pass_}" if pass_ > 1 else "")
        kept.append((key, record[0], content))
        self.records.append(record.view(RECORD))

    def all_records(self) -> Array:
        return numpy.concatenate(self.records) if self.records else numpy.empty(0, RECORD)

    def write(self, segments: int = 1, ended: Mapping[str, Any] | None = None, part: bool = False) -> Array:
        """Writes everything with all records in the log, and returns them with their checksums."""
        records = self.all_records()
        records["crc"] = record_crcs(records, 0)
        edges = numpy.linspace(0, len(records), segments + 1).astype(int).tolist()
        for first, end in itertools.pairwise(edges):
            self.write_segment(first, records[first:end])
        self.write_messages()
        self.write_tensors(part)
        state = {"unix_ns": START_NS, "reason": "exit", "exit_code": 0, "exception": None, "steps": 0}
        self.write_json(state if ended is None else ended)
        return records

    def write_segment(self, first: int, records: Array, suffix: str = "", cut: int = 0) -> Path:
        """Writes records from a position on; `cut` is the number of bytes that the end lacks."""
        header = struct.pack(
            "<7sBIIQQ16sII8x", b"GDBGLOG", 1, 64, 160, first, START_NS, self.incarnation, self.number, self.world_size
        )
        file = self.path / "log" / f"{first:020d}.gdbl{suffix}"
        content = header + records.tobytes()
        file.write_bytes(content[: len(content) - cut])
        return file

    def write_ring(
        self, records: Array, first: int = 0, tail: int = 0, capacity: int = 6528, file: Path | None = None
    ) -> Path:
        """Writes a ring with the last records, of which the first has a position, and valid checksums."""
        records = records.copy()
        positions = numpy.arange(first, first + len(records), dtype="<u8")
        records["crc"] = crcs_at(records, positions)
        slots = numpy.zeros(capacity, RECORD)
        slots[positions % numpy.uint64(capacity)] = records
        header = bytearray(4096)
        struct.pack_into(
            "<7sBIIQQ16sIIII", header, 0, b"GDBGRNG", 1, 4096, 160, capacity, START_NS, self.incarnation, self.number,
            self.world_size, 1, 1,
        )  # fmt: skip
        struct.pack_into("<Q", header, 128, first + len(records))
        struct.pack_into("<Q", header, 192, tail)
        file = file or self.path / "ring.gdbr"
        file.write_bytes(bytes(header) + slots.tobytes())
        return file

    def write_messages(self) -> None:
        update = b"".join(bytes_field(2, node.encode(number)) for number, node in enumerate(self.nodes, 1))
        (self.path / "graph.gdbm").write_bytes(messages(1, [update] if update else []))
        (self.path / "hits.gdbm").write_bytes(messages(2, self.hits))
        if self.user_changes:
            (self.path / "user-changes.gdbm").write_bytes(messages(4, self.user_changes))
        lines = [json.dumps({"collection": name, "tensors": tensors}) for name, tensors in self.collections.items()]
        (self.path / "collections.jsonl").write_text("".join(line + "\n" for line in lines))

    def write_tensors(self, part: bool = False) -> None:
        for step, saved in self._saved.items():
            (self.path / "tensors").mkdir(exist_ok=True)
            entries: dict[str, Any] = {"__metadata__": {"run": self.run, "rank": str(self.number), "step": str(step)}}
            for key, record, _ in saved:
                shape = [int(size) for size in record["shape"][: record["ndim"]]]
                dtype = next(name for number, name in DTYPES.values() if number == record["dtype"])
                begin = int(record["offset"])
                if record["dtype"] == DTYPES["complex128"][0]:
                    shape.append(2)
                    entries["__metadata__"][f"complex128.{key}"] = "1"
                entries[key] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, begin + int(record["bytes"])]}
            header = b"{}" if part else json.dumps(entries).encode()
            room = 65_528
            content = struct.pack("<Q", room) + header.ljust(room)
            content += b"".join(each[2] for each in saved)
            (self.path / "tensors" / f"{step:08d}.safetensors{'.part' if part else ''}").write_bytes(content)

    def write_json(self, ended: Mapping[str, Any] | None) -> None:
        information = {
            "format": 1,
            "run": self.run,
            "rank": self.number,
            "world_size": self.world_size,
            "job": self.run,
            "job_name": "train.py",
            "program": "train.py",
            "framework": "pytorch",
            "host": socket.gethostname(),
            "pid": 1,
            "incarnation": self.incarnation.hex(),
            "ring": "ring.gdbr",
            "config": {"collections": [{"name": name} for name in self.collections]},
            "ended": dict(ended) if ended else None,
        } | self.info
        (self.path / "rank.json").write_text(json.dumps(information))


def write_run_json(directory: Path, world_size: int) -> None:
    content = {"format": 1, "run": directory.name, "program": "train.py", "world_size": world_size, "resumes": None}
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "run.json").write_text(json.dumps(content | {"started_unix_ns": START_NS}))


def realistic_rank(
    directory: Path, number: int, steps: int, tensors: int, world_size: int = 1, seed: int = 0
) -> SyntheticRank:
    """A rank of a training job: each step has statistics of weights, gradients and activations that drift."""
    rank = SyntheticRank(directory, number, world_size, directory.name)
    scopes = ["forward/layers/%d/attention", "backward/layers/%d/mlp", "optimizer/AdamW"]
    for each in range(tensors):
        scope = scopes[each % 3].replace("%d", str(each // 30))
        category = (3, 2, 4)[each % 3] if each % 10 else 1
        rank.nodes.append(Node(f"{scope}/op_{each}", category, shapes=[(64, 1 + each % 100)]))
    random = numpy.random.default_rng(seed + number)
    nodes = numpy.arange(1, tensors + 1)
    counts = 64 * (1 + numpy.arange(tensors) % 100)
    scale = numpy.exp(random.normal(-3, 2, tensors))
    for step in range(1, steps + 1):
        scale *= numpy.exp(random.normal(0, 0.01, tensors))
        negative = random.binomial(counts, 0.5)
        high, low = (numpy.float32(scale * random.uniform(2.5, 4, tensors)) for _ in range(2))
        variance = scale**2 * random.uniform(0.98, 1.02, tensors)
        values = {"count": counts, "negative_count": negative, "positive_count": counts - negative}
        values |= {"min": -low, "max": high, "abs_max": numpy.maximum(low, high), "variance": variance}
        values |= {
            "mean": scale * random.normal(0, 0.02, tensors),
            "abs_mean": 0.8 * scale * random.uniform(0.98, 1.02, tensors),
        }
        values |= {
            "l1": 0.8 * scale * counts * random.uniform(0.98, 1.02, tensors),
            "l2": numpy.sqrt(variance * counts),
        }
        rank.add(mark(BEGIN_KIND, step), statistics_records(nodes, step, values), mark(END_KIND, step, records=tensors))
    rank.collections["layers"] = [(int(node), 0) for node in nodes]
    return rank


def lock(file: Path) -> Any:
    """Holds a ring's lock as its process does, until the result is closed."""
    stream = file.open("r+b")
    fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return stream


# Holds a ring's lock as another process.
HOLDER = """
import fcntl, sys, time
stream = open(sys.argv[1], "r+b")
fcntl.lockf(stream, fcntl.LOCK_EX)
print("locked", flush=True)
time.sleep(600)
"""


def add_steps(rank: SyntheticRank, count: int, tensors: int = 3, first: int = 1) -> None:
    """Adds steps with the statistics of the same values for each tensor."""
    nodes = numpy.arange(1, tensors + 1)
    rank.nodes = rank.nodes or [Node(f"forward/fc/op_{each}", 3) for each in range(tensors)]
    for step in range(first, first + count):
        values = statistics_of(numpy.arange(-2.0, 3.0) * step)
        rank.add(mark(BEGIN_KIND, step), statistics_records(nodes, step, values), mark(END_KIND, step))
