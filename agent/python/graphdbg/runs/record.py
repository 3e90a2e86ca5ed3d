"""The record of a ring and of a log: 160 bytes, little endian, as NumPy dtypes.

RECORD has the fields that all kinds share and those of statistics. The other kinds have the
same size, so that `records[records["kind"] == CHANGE_KIND].view(CHANGE)` gives their fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

Array = numpy.ndarray[Any, Any]

RECORD_SIZE = 160
HEADER_SIZE = 32

STATISTICS_KIND, CHANGE_KIND, BEGIN_KIND, END_KIND, SAVED_KIND, HOLE_KIND, HIT_KIND, UNITS_KIND = range(1, 9)

MODES = ("unknown", "train", "eval", "predict")

# Why a step has no statistics: the field `reason` of its end.
REASONS = ("", "overhead", "not_due")

COUNTS = ("count", "nan_count", "pos_inf_count", "neg_inf_count", "zero_count", "negative_count", "positive_count")
MEASURES = ("min", "max", "mean", "abs_mean", "abs_max", "variance", "l1", "l2")

# By number in tensor.proto, as NumPy and ml_dtypes name them.
DTYPES = (
    "",
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "other",
    "float8_e4m3fn",
    "float8_e5m2",
)

# What all kinds share: format and offset, before HEADER_SIZE.
HEADER_FIELDS: Mapping[str, tuple[str, int]] = {
    "crc": ("<u4", 0),
    "kind": ("<u2", 4),
    "flags": ("<u2", 6),
    "step": ("<u8", 8),
    "node": ("<u4", 16),
    "slot": ("<u2", 20),
    "dtype": ("u1", 22),
    "mode": ("u1", 23),
    "exec_order": ("<u4", 24),
    "iteration": ("<u2", 28),
    "pass": ("<u2", 30),
}


def _record(fields: Mapping[str, tuple[str, int]]) -> numpy.dtype[numpy.void]:
    every = {**HEADER_FIELDS, **fields}
    return numpy.dtype(
        {
            "names": list(every),
            "formats": [kind for kind, _ in every.values()],
            "offsets": [offset for _, offset in every.values()],
            "itemsize": RECORD_SIZE,
        }
    )


RECORD = _record(
    {name: ("<u8", 32 + 8 * number) for number, name in enumerate(COUNTS)}
    | {name: ("<f8", 88 + 8 * number) for number, name in enumerate((*MEASURES, "grad_scale"))}
)

CHANGE_MEASURES = ("change_abs_mean", "change_abs_max", "change_l2", "previous_abs_mean", "previous_l2")
CHANGE = _record(
    {"count": ("<u8", 32), "finite_count": ("<u8", 40), "digest": ("<u8", 48)}
    | {name: ("<f8", 56 + 8 * number) for number, name in enumerate(CHANGE_MEASURES)}
    | {"changed_count": ("<u8", 96), "compared_step": ("<u8", 104)}
)

# Begins and ends of steps and passes; fields from `records` on are those of ends.
MARK = _record(
    {
        "unix_ns": ("<u8", 32),
        "monotonic_ns": ("<u8", 40),
        "mode_step": ("<u8", 48),
        "records": ("<u8", 56),
        "dropped": ("<u8", 64),
        "tensors_dropped": ("<u8", 72),
        "measuring_ns": ("<u8", 80),
        "tensor_bytes": ("<u8", 88),
        "reason": ("<u4", 96),
    }
)

MAX_DIMENSIONS = 11
SAVED = _record(
    {
        "offset": ("<u8", 32),
        "bytes": ("<u8", 40),
        "file": ("<u4", 48),
        "ndim": ("u1", 52),
        "data_crc": ("<u4", 56),
        "shape": (f"({MAX_DIMENSIONS},)<i8", 64),
        "grad_scale": ("<f8", 152),
    }
)

HIT = _record({"number": ("<u8", 32), "watchpoint": ("<u4", 40)})

UNITS = _record(
    {
        "axis": ("<u4", 32),
        "units": ("<u4", 36),
        "idle_units": ("<u4", 40),
        "from": ("<f8", 48),
        "to": ("<f8", 56),
        "below": ("<f8", 64),
    }
)


def tensor_keys(records: Array) -> Array:
    """Node and slot of each record as one number, node << 16 | slot; u64."""
    keys: Array = records["node"].astype("<u8") << numpy.uint64(16) | records["slot"]
    return keys


def places_in_step(records: Array) -> Array:
    """Numbers that order the records of a step: those without a place in it come last."""
    # In unsigned arithmetic, 0 - 1 is the largest number.
    places: Array = records["exec_order"] - numpy.uint32(1)
    return places


def dtype_name(number: int) -> str:
    """The name of a data type; "" for a number that is not known."""
    return DTYPES[number] if number < len(DTYPES) else ""


def mode_name(number: int) -> str:
    return MODES[number] if number < len(MODES) else MODES[0]
