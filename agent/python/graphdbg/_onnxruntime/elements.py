"""Element types: the numbers of onnx.TensorProto.DataType, ONNX Runtime's names, the agent's dtypes (agent.h)."""

from __future__ import annotations

OTHER = 16
STRING = 8
# Types that NumPy represents as numbers: not strings, bfloat16, or floats of 8 bits
# and fewer.
NUMPY = frozenset(range(1, 16)) - {STRING}
# float16, bfloat16, and types of 8 bits and fewer.
SMALL_FLOATS = frozenset((10, *range(16, 64)))

_ROWS = (
    ("undefined", OTHER),
    ("float", 12),
    ("uint8", 6),
    ("int8", 2),
    ("uint16", 7),
    ("int16", 3),
    ("int32", 4),
    ("int64", 5),
    ("string", OTHER),
    ("bool", 1),
    ("float16", 10),
    ("double", 13),
    ("uint32", 8),
    ("uint64", 9),
    ("complex64", 14),
    ("complex128", 15),
    ("bfloat16", 11),
    ("float8e4m3fn", 17),
    ("float8e4m3fnuz", OTHER),
    ("float8e5m2", 18),
    ("float8e5m2fnuz", OTHER),
    ("uint4", OTHER),
    ("int4", OTHER),
    ("float4e2m1", OTHER),
)
NUMBERS = {name: number for number, (name, _) in enumerate(_ROWS)}


def name_of(element: int) -> str:
    return _ROWS[element][0] if 0 <= element < len(_ROWS) else "other"


def dtype_of(element: int) -> int:
    return _ROWS[element][1] if 0 <= element < len(_ROWS) else OTHER
