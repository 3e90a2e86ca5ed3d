"""What a replay shows: whether the result is that of the job, and whether it meets the condition of the hit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

SAME_BITS = "same bits"
SAME_CONDITION = "same condition"
OTHER_RESULT = "other result"
DOES_NOT_FAIL = "does not fail"

# Kinds of elements that are not finite.
BAD_KINDS = ("nan_count", "pos_inf_count", "neg_inf_count")
_COMPARISONS = {
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}
# Statistics of another element type or device differ in the last digits.
_RELATIVE = 1e-3


def meets(hit: Mapping[str, Any], found: Mapping[str, float | None]) -> bool | None:
    """Whether statistics meet the condition of a hit; None if that cannot be told from them.

    Args:
        hit: The hit of the manifest.
        found: Statistics of the result, by the names of the HTTP API.
    """
    before = hit.get("statistics")
    kinds = [kind for kind in BAD_KINDS if isinstance(before, Mapping) and _number(before.get(kind))]
    if kinds:
        return any(found.get(kind) for kind in kinds)
    params = hit.get("params")
    tested = []
    for name, limit in params.items() if isinstance(params, Mapping) else ():
        measure, _, comparison = str(name).rpartition("_")
        value = found.get(measure)
        if comparison in _COMPARISONS and value is not None and _number(limit) is not None:
            tested.append(_COMPARISONS[comparison](value, _number(limit)))
    return all(tested) if tested else None


def alike(hit: Mapping[str, Any], found: Mapping[str, float | None]) -> bool:
    """Whether the result has about the statistics of the hit."""
    before = hit.get("statistics")
    if not isinstance(before, Mapping):
        return False
    pairs = [(_number(before.get(name)), value) for name, value in found.items() if name in before]
    return bool(pairs) and all(
        a == b or (a is not None and b is not None and math.isclose(a, b, rel_tol=_RELATIVE)) for a, b in pairs
    )


def verdict(same_bits: bool, met: bool | None, is_alike: bool) -> str:
    if same_bits:
        return SAME_BITS
    if met or (met is None and is_alike):
        return SAME_CONDITION
    return OTHER_RESULT if met is None else DOES_NOT_FAIL


def _number(value: Any) -> float | None:
    """A number of the HTTP API, which may be written as a text."""
    if isinstance(value, (int, float)):
        return float(value)
    return (
        {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}.get(value) if isinstance(value, str) else None
    )
