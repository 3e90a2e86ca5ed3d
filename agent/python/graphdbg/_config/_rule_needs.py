"""What rules need to be recorded: collections and reductions that a configuration with rules implies."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

RELU_OPS = ("aten::relu", "aten::relu_", "Relu")
TANH_OPS = ("aten::tanh", "aten::tanh_", "Tanh")
SIGMOID_OPS = ("aten::sigmoid", "aten::sigmoid_", "Sigmoid")
UNIT_PARAMETERS = {"threshold_inactivity": 1.0, "axis": 1}
# In values of the function's argument, as in SageMaker Debugger.
TANH_LIMITS = {"threshold_tanh_min": -9.4999, "threshold_tanh_max": 9.4999}
SIGMOID_LIMITS = {"threshold_sigmoid_min": -23.0, "threshold_sigmoid_max": 16.99999}

# Those that the agent records if the configuration names none.
_DEFAULT_COLLECTIONS = ("losses", "weights", "biases", "gradients", "layers", "inputs")
_CHANGE = re.compile(r"\b(change_\w+|changed_count|previous_\w+)\b")
_COMPARING = ("unchanged_tensor", "weight_update_ratio")

Json = dict[str, Any]


def with_needs(values: Mapping[str, Any]) -> list[Json]:
    """The collections of a configuration, with what its rules need.

    What the configuration says about a collection itself stays as it is.
    """
    given = values.get("collections")
    if given is None:
        # Weights are compared by default, unless there are reductions.
        weights: Json = {} if values.get("reductions") else {"reductions": {"change": True}}
        given = [{"name": name, **(weights if name == "weights" else {})} for name in _DEFAULT_COLLECTIONS]
    collections = [dict(each) for each in given]
    for rule in values.get("rules") or ():
        for need in _needs(rule):
            _add(collections, need)
    return collections


def _needs(rule: Mapping[str, Any]) -> Iterator[Json]:
    """Collections with what a rule needs. A name that is known stands for that collection."""
    name, params = rule.get("rule"), rule.get("params") or {}
    select = rule.get("select")
    if name == "dead_relu":
        yield from _selected("dead_relu", select or {"op_types": RELU_OPS}, {"units": _units(params, 0.0, None)})
    elif name == "saturated_activation":
        yield from _saturated(select, params)
    elif name in _COMPARING or _CHANGE.search(" ".join(map(str, _texts(rule)))):
        default = {"collections": ["weights"]} if name == "weight_update_ratio" else {}
        for need in _selected(str(rule.get("name") or name or "changes"), select or default, {"change": True}):
            steps = params.get("num_steps") if name == "weight_update_ratio" else None
            yield {**need, "save": {"every": steps}} if steps else need


def _texts(rule: Mapping[str, Any]) -> list[Any]:
    return [rule.get("when") or "", *(rule.get("reduce") or {}).values()]


def _saturated(select: Mapping[str, Any] | None, params: Mapping[str, Any]) -> Iterator[Json]:
    """The results of both functions, whose ranges are those of the arguments: the functions are monotonic."""
    tanh = [math.tanh(float(params.get(name, limit))) for name, limit in TANH_LIMITS.items()]
    sigmoid = [1 / (1 + math.exp(-float(params.get(name, limit)))) for name, limit in SIGMOID_LIMITS.items()]
    if select:
        yield from _selected("saturated_activation", select, {"units": _units(params, *tanh)})
        return
    yield from _selected("saturated_tanh", {"op_types": TANH_OPS}, {"units": _units(params, *tanh)})
    yield from _selected("saturated_sigmoid", {"op_types": SIGMOID_OPS}, {"units": _units(params, *sigmoid)})


def _units(params: Mapping[str, Any], lower: float, upper: float | None) -> Json:
    below, axis = (params.get(name, default) for name, default in UNIT_PARAMETERS.items())
    return {"axis": axis, "from": lower, **({} if upper is None else {"to": upper}), "below": below}


def _selected(name: str, select: Mapping[str, Sequence[str]], reductions: Json) -> Iterator[Json]:
    """The collections of a selection, and one of this name for its other lists."""
    for each in select.get("collections", ()):
        yield {"name": each, "reductions": reductions}
    lists = {key: list(names) for key, names in select.items() if key not in ("collections", "exclude") and names}
    if lists:
        exclude = {"exclude": list(select["exclude"])} if select.get("exclude") else {}
        yield {"name": re.sub(r"[^A-Za-z0-9_.-]", "_", name), "reductions": reductions, **lists, **exclude}


def _add(collections: list[Json], need: Json) -> None:
    known = next((each for each in collections if each["name"] == need["name"]), None)
    if known is None:
        collections.append(need)
        return
    known["reductions"] = {**need["reductions"], **(known.get("reductions") or {})}
    if "save" in need:
        known.setdefault("save", need["save"])
