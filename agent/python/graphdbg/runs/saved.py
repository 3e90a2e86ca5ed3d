"""Saved tensors: safetensors files, and such files that a process did not live to finish."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import Any

import numpy
from graphdbg.client.arrays import array_of

from .crc32c import crc32c
from .errors import Damage
from .files import Files
from .record import Array, dtype_name
from .tables import shape_of, tensor_file

_PREFIX = struct.Struct("<Q")
_MAX_HEADER = 100 << 20
# Bytes of an element by data type. The values of other types cannot be read.
ELEMENT_BYTES = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "complex64": 8,
    "complex128": 16,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
}


def read_saved(files: Files, rank: str, saved: Any) -> Array:
    """The value of a record of kind 5, with its shape and data type.

    Args:
        files: The run.
        rank: The name of the rank's directory.
        saved: The record, as SAVED.

    Raises:
        DataLossError: The file is missing, too short, or the value's checksum does not match.
    """
    path = find_file(files, rank, saved)
    name = f"{files.name}/{path}"
    shape, dtype = shape_of(saved), dtype_name(int(saved["dtype"]))
    size, offset = int(saved["bytes"]), int(saved["offset"])
    expected = _expected_bytes(shape, dtype)
    if expected != size:
        raise Damage(name, offset, f"a value of {size} bytes does not have the shape {shape} of {dtype}").error()
    begin = data_start(files, path) + offset
    content = _content(files, path, begin, size)
    if len(content) != size:
        raise Damage(name, begin, f"a value of {size} bytes is cut short").error()
    if crc32c(content) != int(saved["data_crc"]):
        raise Damage(name, begin, "the checksum of a value does not match").error()
    # The bytes of complex128 are pairs of float64.
    return array_of(content, dtype, tuple(shape))


def find_file(files: Files, rank: str, saved: Any) -> str:
    """The path of the file with a saved tensor, finished or not."""
    path = f"{rank}/tensors/{tensor_file(int(saved['step']), int(saved['file']))}"
    for candidate in (path, f"{path}.part"):
        if files.size(candidate) is not None:
            return candidate
    raise Damage(f"{files.name}/{path}", 0, "the file with a saved tensor is missing").error()


def data_start(files: Files, path: str) -> int:
    """The offset of the data in a file. Unfinished files contain it, too."""
    size = files.size(path) or 0
    prefix = files.read(path, 0, _PREFIX.size)
    header = _PREFIX.unpack(prefix)[0] if len(prefix) == _PREFIX.size else 0
    if not 0 < header <= min(_MAX_HEADER, size - _PREFIX.size):
        raise Damage(f"{files.name}/{path}", 0, f"a header of {header} bytes does not fit").error()
    return int(header) + _PREFIX.size


def _expected_bytes(shape: list[int], dtype: str) -> int | None:
    element = ELEMENT_BYTES.get(dtype)
    if element is None or any(size < 0 for size in shape):
        return None
    count = 1
    for size in shape:
        count *= size
    return count * element


def _content(files: Files, path: str, begin: int, size: int) -> Any:
    available = max(0, (files.size(path) or 0) - begin)
    size = min(size, available)
    if files.local is None or size == 0:
        return files.read(path, begin, size)
    return _mapped(files.local / path, begin, size)


def _mapped(file: Path, begin: int, size: int) -> memoryview:
    """Bytes of a file, mapped: a finished file never shrinks."""
    aligned = begin // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
    with file.open("rb") as stream:
        whole = mmap.mmap(stream.fileno(), begin - aligned + size, prot=mmap.PROT_READ, offset=aligned)
    return memoryview(whole)[begin - aligned :]


def value_of_scalar(record: Any, shape: tuple[int, ...]) -> Array:
    """The value of a tensor with one element, from its statistics."""
    if record["nan_count"]:
        value = numpy.nan
    elif record["pos_inf_count"] or record["neg_inf_count"]:
        value = numpy.inf if record["pos_inf_count"] else -numpy.inf
    else:
        # Statistics are of the true value; saved values are as they are in memory.
        value = float(record["min"]) * float(record["grad_scale"])
    dtype = dtype_name(int(record["dtype"]))
    try:
        kind = numpy.dtype(dtype)
    except TypeError:
        # bfloat16 and float8, all of whose values are values of float32.
        kind = numpy.dtype("f4")
    return numpy.full(shape, value, kind)


def for_numpy(value: Array) -> Array:
    """A value of a type that NumPy itself has: bfloat16 and float8 become float32."""
    return value if value.dtype.isbuiltin == 1 else value.astype("f4")
