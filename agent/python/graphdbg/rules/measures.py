"""The statistics that rules compare, and their SQL over the views of a run.

The aliases of the views are s (statistics), c (changes), u (units) and t (steps). The columns of
light records that were not measured are unknown, and so are statistics of finite elements
where there are none. Intentional infinities do not count.
"""

from __future__ import annotations

from collections.abc import Sequence

_CHANGES = ("change_abs_mean", "change_abs_max", "change_l2", "previous_abs_mean", "previous_l2")

_NAN = "cast('NaN' as double)"
# The denominator is positive.
_RATIO = "c.change_abs_mean / (c.previous_abs_mean + cast('1e-09' as double))"


def _number(sql: str) -> str:
    return f"cast({sql} as double)"


def _if_finite(sql: str) -> str:
    return f"case when s.count > s.nonfinite_count then {sql} end"


def _full(sql: str) -> str:
    """A count that light records do not have."""
    return f"case when (s.flags & 1) = 0 then {_number(sql)} end"


def _share(sql: str) -> str:
    return f"case when (s.flags & 1) = 0 and s.count > 0 then 100 * {_number(sql)} / {_number('s.count')} end"


def _infinities(sql: str) -> str:
    return f"case when (s.flags & 4) = 0 then {_number(sql)} else {_number('0')} end"


TENSOR_MEASURES = {
    "min": _if_finite("s.min"),
    "max": _if_finite("s.max"),
    "max_min": _if_finite(f"nullif(s.max - s.min, {_NAN})"),
    "mean": _if_finite("s.mean"),
    "sd": "case when s.count > s.nonfinite_count and s.variance >= 0 then sqrt(s.variance) end",
    "variance": _if_finite("s.variance"),
    "abs_max": _if_finite("s.abs_max"),
    "abs_mean": _if_finite("s.abs_mean"),
    "l1": _if_finite("s.l1"),
    "l2": _if_finite("s.l2"),
    "count": _number("s.count"),
    "nan_count": _number("s.nan_count"),
    "inf_count": _infinities("s.pos_inf_count + s.neg_inf_count"),
    "pos_inf_count": _infinities("s.pos_inf_count"),
    "neg_inf_count": _infinities("s.neg_inf_count"),
    "zero_count": _full("s.zero_count"),
    "negative_count": _full("s.negative_count"),
    "positive_count": _full("s.positive_count"),
    "zero_percentage": _share("s.zero_count"),
    "inactive_percentage": _share("s.zero_count + s.negative_count"),
    **{name: f"case when c.finite_count > 0 then c.{name} end" for name in _CHANGES[:3]},
    "change_ratio": f"case when c.finite_count > 0 then nullif({_RATIO}, {_NAN}) end",
    **{name: f"case when c.finite_count > 0 then c.{name} end" for name in _CHANGES[3:]},
    "step": _number("s.step"),
    "value": "case when s.count = 1 then s.mean end",
    "changed_count": f"case when c.count > 0 then {_number('c.changed_count')} end",
    "mode_step": f"nullif({_number('s.mode_step')}, 0)",
    "idle_unit_percentage": f"case when u.units > 0 then 100 * {_number('u.idle_units')} / {_number('u.units')} end",
}
STEP_MEASURES = {
    "step": _number("t.step"),
    "mode_step": f"nullif({_number('t.mode_step')}, 0)",
    "step_seconds": "t.seconds",
}
_LAST = ("value", "changed_count", "idle_unit_percentage", "mode_step")
# The order of the server's error messages.
NAMES = (
    *(name for name in TENSOR_MEASURES if name not in _LAST),
    *_LAST,
    "step_seconds",
)
# Conditions compute these from values, which rules do not have.
QUANTILES = ("p01", "p05", "p10", "p25", "p50", "p75", "p90", "p95", "p99")


def unknown_name(name: str, known: Sequence[str]) -> str:
    """Why a rule cannot use a name, in the words of the server."""
    if name in QUANTILES:
        return (
            f"{name} is not recorded: quantiles are computed from values, by conditions (graphdbg recheck) but not "
            "by rules"
        )
    return f'unknown statistic "{name}"; expected one of {", ".join(known)}'


def view_of(name: str) -> str:
    """The view beside that of statistics that a measure of tensors needs: "changes", "units" or ""."""
    sql = TENSOR_MEASURES.get(name, "")
    return "changes" if "c." in sql else "units" if "u." in sql else ""
