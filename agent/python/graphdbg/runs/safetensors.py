"""Writes files of the safetensors format, and finishes those that a process did not live to finish."""

from __future__ import annotations

import json
import os
import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .errors import DataLossError
from .files import whole_file
from .rank import Rank
from .record import SAVED, dtype_name, mode_name
from .saved import ELEMENT_BYTES, data_start
from .tables import shape_of, tensor_file

_PREFIX = struct.Struct("<Q")
NAMES = {
    "bool": "BOOL",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "uint8": "U8",
    "uint16": "U16",
    "uint32": "U32",
    "uint64": "U64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "complex64": "C64",
    # The format has no complex128: pairs of float64, in a last dimension of 2.
    "complex128": "F64",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
}


def key(rank: Rank, saved: Any) -> str:
    """The name of a saved tensor in its file: NODE:SLOT, and #PASS from the second pass on."""
    name = f"{rank.nodes.name(int(saved['node']))}:{int(saved['slot'])}"
    return name if saved["pass"] <= 1 else f"{name}#{int(saved['pass'])}"


def header(rank: Rank, records: Iterable[Any], metadata: Mapping[str, str]) -> bytes:
    """The header of a file with these tensors one after the other, as JSON.

    A key that is there already, because a node executed several times, has ~2, ~3 behind it.
    """
    entries: dict[str, Any] = {}
    extra: dict[str, str] = {}
    executions: Counter[str] = Counter()
    end = 0
    for saved in records:
        name = key(rank, saved)
        executions[name] += 1
        if executions[name] > 1:
            name += f"~{executions[name]}"
        dtype, shape = dtype_name(int(saved["dtype"])), shape_of(saved)
        if dtype == "complex128":
            shape.append(2)
            extra[f"complex128.{name}"] = "1"
        begin, end = end, end + int(saved["bytes"])
        entries[name] = {"dtype": NAMES[dtype], "shape": shape, "data_offsets": [begin, end]}
    return json.dumps({"__metadata__": {**metadata, **extra}, **entries}).encode()


def metadata_of(rank: Rank, saved: Any) -> dict[str, str]:
    return {
        "run": str(rank.info.get("run", "")),
        "rank": str(rank.number),
        "step": str(int(saved["step"])),
        "mode": mode_name(int(saved["mode"])),
        "pass": str(int(saved["pass"])),
        "graphdbg.version": str(rank.info.get("agent_version", "")),
    }


def write_file(file: Path, rank: Rank, records: list[Any]) -> int:
    """Writes saved tensors to a file of their own, and returns its size. Raises DataLossError and OSError."""
    encoded = header(rank, records, metadata_of(rank, records[0]))
    encoded = encoded.ljust(-(-len(encoded) // 8) * 8)
    with whole_file(file) as stream:
        stream.write(_PREFIX.pack(len(encoded)) + encoded)
        for saved in records:
            stream.write(rank.read_saved(saved).tobytes())
    return file.stat().st_size


def finish_parts(rank: Rank) -> list[str]:
    """Finishes the unfinished files of a rank whose process has ended, from the records of their tensors.

    The format allows no gaps, so a file ends before the first tensor that was not written whole.

    Returns:
        What was lost: a line for each tensor that a record promised and the file does not have.
    """
    if rank.files.local is None:
        return []
    lost: list[str] = []
    directory = rank.files.local / rank.name / "tensors"
    saved = rank.saved().records.view(SAVED)
    names = [tensor_file(int(each["step"]), int(each["file"])) for each in saved]
    for part in sorted(directory.glob("*.safetensors.part")):
        name = part.name.removesuffix(".part")
        records = sorted((each for each, file in zip(saved, names, strict=True) if file == name), key=_offset)
        lost += _finish(rank, part, part.with_name(name), records)
    return lost


def _offset(saved: Any) -> int:
    return int(saved["offset"])


def _finish(rank: Rank, part: Path, file: Path, records: list[Any]) -> list[str]:
    good = _whole(rank, records)
    lost = [f"{rank.name}/tensors/{file.name}: {key(rank, each)} was not written" for each in records[len(good) :]]
    if not good:
        return lost
    start = data_start(rank.files, f"{rank.name}/tensors/{part.name}")
    encoded = header(rank, good, metadata_of(rank, good[0]))
    room = start - _PREFIX.size
    if len(encoded) > room:
        return [f"{rank.name}/tensors/{file.name}: a header of {len(encoded)} bytes does not fit into {room}"]
    with part.open("r+b") as stream:
        stream.write(_PREFIX.pack(room) + encoded.ljust(room))
        stream.truncate(start + _offset(good[-1]) + int(good[-1]["bytes"]))
        stream.flush()
        os.fdatasync(stream.fileno())
    part.replace(file)
    return lost


def _whole(rank: Rank, records: list[Any]) -> list[Any]:
    """The first tensors of a file, up to the first gap and the first whose checksum does not match."""
    found: list[Any] = []
    end = 0
    for saved in records:
        if _offset(saved) != end or dtype_name(int(saved["dtype"])) not in ELEMENT_BYTES:
            break
        try:
            rank.read_saved(saved)
        except DataLossError:
            break
        end += int(saved["bytes"])
        found.append(saved)
    return found
