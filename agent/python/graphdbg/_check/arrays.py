"""Facts about arrays and tensors of any framework, in values that JSON can carry."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from typing import Any

# A description of a batch names this many arrays.
_MOST = 8


def describe(array: Any) -> dict[str, Any]:
    """Sizes that are not known yet are -1."""
    dtype = getattr(array.dtype, "name", None) or str(array.dtype)
    return {"dtype": str(dtype), "shape": [-1 if size is None else int(size) for size in array.shape], "device": "cpu"}


def describe_all(arrays: Iterable[Any]) -> list[dict[str, Any]]:
    found = [each for each in arrays if hasattr(each, "dtype") and hasattr(each, "shape")]
    return [describe(each) for each in found[:_MOST]]


def model(name: str, parameters: Sequence[Any], trainable: Sequence[Any]) -> dict[str, Any]:
    """The facts of the stage in which a model is built."""
    kinds: dict[str, int] = {}
    for each in map(describe, parameters):
        kind = f"{each['dtype']} on {each['device']}"
        kinds[kind] = kinds.get(kind, 0) + 1
    return {"module": name, "parameters": _count(parameters), "trainable": _count(trainable), "kinds": kinds}


def _count(arrays: Sequence[Any]) -> int:
    return sum(math.prod(int(size) for size in each.shape) for each in arrays)


def scalar(array: Any) -> float | None:
    """The value of an array with a single floating-point number; None for others."""
    import numpy as np

    try:
        value = np.asarray(array)
    except Exception:
        return None
    return float(value) if value.size == 1 and value.dtype.kind == "f" else None


def digest(arrays: Iterable[Any]) -> str:
    """A hash of types, shapes and values, equal only if these are equal to the bit."""
    import numpy as np

    found = hashlib.sha256()
    for array in arrays:
        value = np.asarray(array)
        found.update(f"{value.dtype} {value.shape};".encode())
        found.update(value.tobytes())
    return found.hexdigest()
