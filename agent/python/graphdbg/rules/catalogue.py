"""The built-in rules. Those that have a counterpart in SageMaker Debugger have its names and defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .definition import SERIES_PARTS

# A parameter's default; None if it has none.
Parameter = float | int | bool | None


@dataclass(frozen=True)
class BuiltIn:
    """A built-in rule.

    Attributes:
        id: Its name.
        title: What a finding means.
        when: Makes the expression from the parameters. Raises ValueError for parameters that do not fit.
        params: The defaults of the parameters.
        select: The tensors that it looks at; None if each use must name them.
        series, reduce: As in a rule.
    """

    id: str
    title: str
    when: Callable[[Mapping[str, Any]], str]
    params: Mapping[str, Parameter] = field(default_factory=dict)
    select: Mapping[str, list[str]] | None = None
    series: tuple[str, ...] = SERIES_PARTS
    reduce: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """An expression of a compound rule; the attributes are those of BuiltIn."""

    when: Callable[[Mapping[str, Any]], str]
    select: Mapping[str, list[str]]
    series: tuple[str, ...] = SERIES_PARTS
    reduce: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Compound:
    """A built-in rule that matches where one of several expressions does.

    Attributes:
        id, title, params: The same as in BuiltIn.
        parts: The expressions.
    """

    id: str
    title: str
    params: Mapping[str, Parameter]
    parts: tuple[Part, ...]


def _variance(params: Mapping[str, Any]) -> str:
    limits = [("variance >", params["max_threshold"]), ("variance <", params["min_threshold"])]
    parts = [f"{relation} {limit!r}" for relation, limit in limits if limit is not None]
    if not parts:
        raise ValueError("max_threshold or min_threshold is required")
    return " || ".join(parts)


def _unchanged(params: Mapping[str, Any]) -> str:
    if params["num_steps"] < 2:
        raise ValueError("num_steps must be at least 2")
    return f"held(changed_count == 0, {params['num_steps'] - 1})"


def _loss_not_decreasing(params: Mapping[str, Any]) -> str:
    before = f"prev(value, {params['num_steps']})"
    return f"{before} - value < {params['diff_percent']!r} / 100 * abs({before})"


def _variances_differ(params: Mapping[str, Any]) -> str:
    return f"hi > {params['threshold']!r} * lo && step <= {params['steps']}"


def _gradients_are_narrow(params: Mapping[str, Any]) -> str:
    # 3.29 standard deviations of a normal distribution are between its 5th and its 95th percentile.
    return f"3.29 * sd < {params['distribution_range']!r} && count > 1 && step <= {params['steps']}"


def _loss_stays(params: Mapping[str, Any]) -> str:
    loss = _loss_not_decreasing({"num_steps": params["patience"], "diff_percent": 0.1})
    return f"{loss} && step <= {params['steps']}"


_GRADIENTS = {"collections": ["gradients"]}
_WEIGHTS = {"collections": ["weights"]}
_LOSSES = {"collections": ["losses"]}
# Activations read the results of ops with weights.
_WEIGHTED_OPS = {
    "op_types": ["aten::linear", "aten::addmm", "aten::convolution", "aten::conv1d", "aten::conv2d", "aten::conv3d"],
    "exclude": ["^backward/"],
}

BUILT_INS = {
    rule.id: rule
    for rule in (
        BuiltIn(
            "vanishing_gradient",
            "A gradient is close to zero",
            lambda params: f"abs_mean < {params['threshold']!r} && count > 0",
            {"threshold": 1e-7},
            _GRADIENTS,
        ),
        BuiltIn(
            "exploding_tensor",
            "A tensor has NaN or infinities",
            lambda params: "nan_count > 0" if params["only_nan"] else "nan_count > 0 || inf_count > 0",
            {"only_nan": False},
            {},
        ),
        BuiltIn(
            "tensor_variance",
            "The variance of a tensor is out of bounds",
            _variance,
            {"max_threshold": None, "min_threshold": None},
        ),
        BuiltIn(
            "all_zero",
            "A tensor is zero (percentage of its elements)",
            lambda params: f"zero_percentage >= {params['threshold']!r}",
            {"threshold": 100},
        ),
        BuiltIn("unchanged_tensor", "A tensor does not change", _unchanged, {"num_steps": 3}),
        BuiltIn(
            "weight_update_ratio",
            "A weight changes too much, or too little",
            lambda params: (
                f"change_ratio > {params['large_threshold']!r} || change_ratio < {params['small_threshold']!r}"
            ),
            {"large_threshold": 10, "small_threshold": 1e-8},
            _WEIGHTS,
        ),
        BuiltIn(
            "dead_relu",
            "Units of a layer are never active (percentage of the units)",
            lambda params: f"idle_unit_percentage > {params['threshold_layer']!r}",
            {"threshold_layer": 50},
            {"op_types": ["aten::relu", "aten::relu_", "Relu"]},
        ),
        BuiltIn(
            "saturated_activation",
            "Units of a layer are saturated (percentage of the units)",
            lambda params: f"idle_unit_percentage > {params['threshold_layer']!r}",
            {"threshold_layer": 50},
        ),
        BuiltIn(
            "loss_not_decreasing",
            "A loss does not decrease (percentage of the earlier loss)",
            _loss_not_decreasing,
            {"num_steps": 10, "diff_percent": 0.1},
            _LOSSES,
        ),
        BuiltIn(
            "gradient_spike",
            "A gradient is much larger than before",
            lambda params: f"abs_mean > {params['factor']!r} * mean_before(abs_mean, {params['window']})",
            {"factor": 10, "window": 20},
            _GRADIENTS,
        ),
        BuiltIn(
            "replicas_disagree",
            "Ranks have different values of a weight",
            lambda params: f"hi - lo > {params['tolerance']!r} * hi",
            {"tolerance": 1e-6},
            _WEIGHTS,
            ("tensor",),
            {"hi": "max(l2)", "lo": "min(l2)"},
        ),
        BuiltIn(
            "slow_step",
            "A step takes much longer than those before",
            lambda params: f"step_seconds > {params['factor']!r} * mean_before(step_seconds, {params['window']})",
            {"factor": 3, "window": 20},
            {},
            ("rank",),
        ),
    )
}

COMPOUNDS = {
    rule.id: rule
    for rule in (
        Compound(
            "poor_weight_initialization",
            "In the first steps, the variances of layers differ much, gradients are close to constant, or the loss "
            "does not decrease",
            {"threshold": 10.0, "distribution_range": 0.001, "patience": 5, "steps": 10},
            (
                Part(
                    _variances_differ,
                    _WEIGHTED_OPS,
                    ("rank", "mode"),
                    {"hi": "max(variance)", "lo": "min(variance)"},
                ),
                Part(_gradients_are_narrow, _GRADIENTS),
                Part(_loss_stays, _LOSSES),
            ),
        ),
    )
}
