"""The collections and reductions that the rules of a configuration need."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

# The built-in rules. The package graphdbg.rules, which reads them too, needs NumPy.
_CATALOGUE = Path(__file__).resolve().parent.parent / "rules" / "catalogue.json"
# The collections that the agent records if the configuration names none.
_DEFAULT_COLLECTIONS = ("losses", "weights", "biases", "gradients", "layers", "inputs")
_CHANGE = re.compile(r"\b(change_\w+|changed_count|previous_\w+)\b")
# Types of ops by function.
_SATURATING = {
    "tanh": ("aten::tanh", "aten::tanh_", "Tanh"),
    "sigmoid": ("aten::sigmoid", "aten::sigmoid_", "Sigmoid"),
}
# Quantities of boosted trees that rules look at: those of a round, which are in no other collection.
_OF_ROUNDS: dict[str, dict[str, Any]] = {
    "tree_depth": {"include": ["(^|/)train/tree_depth$"]},
    "feature_importance_overweight": {"include": ["(^|/)feature_importance/weight$"], "level": "tensors"},
}
_COMPARING = ("unchanged_tensor", "weight_update_ratio")

Json = dict[str, Any]


def with_needs(values: Mapping[str, Any]) -> list[Json]:
    """The collections of a configuration, with what its rules need.

    The settings that the configuration itself has for a collection take precedence.
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


@functools.cache
def _built_ins() -> dict[str, Json]:
    """The built-in rules by id."""
    return {each["id"]: each for each in json.loads(_CATALOGUE.read_text(encoding="utf-8"))["rules"]}


def _needs(rule: Mapping[str, Any]) -> Iterator[Json]:
    """Collections with what a rule needs. A name that is known stands for that collection."""
    name = rule.get("rule")
    built_in = _built_ins().get(str(name), {})
    params = {each["name"]: each.get("default") for each in built_in.get("params", ())} | (rule.get("params") or {})
    given = rule.get("select")
    select = given or next((part.get("select") for part in built_in.get("parts", ())), None) or {}
    if name == "dead_relu":
        yield from _selected("dead_relu", select, {"units": _units(params, 0.0, None)})
    elif name == "saturated_activation":
        yield from _saturated(select, params, is_given=bool(given))
    elif name in _OF_ROUNDS and not given:
        yield {"name": name, **_OF_ROUNDS[name]}
    elif name in _COMPARING or _CHANGE.search(" ".join(map(str, _texts(rule)))):
        for need in _selected(str(rule.get("name") or name or "changes"), select, {"change": True}):
            steps = params.get("num_steps") if name == "weight_update_ratio" else None
            yield {**need, "save": {"every": steps}} if steps else need


def _texts(rule: Mapping[str, Any]) -> list[Any]:
    return [rule.get("when") or "", *(rule.get("reduce") or {}).values()]


def _saturated(select: Mapping[str, Any], params: Mapping[str, Any], is_given: bool) -> Iterator[Json]:
    """The arguments of both functions. `is_given`: the rule selects tensors itself, which count as arguments of tanh.

    Results would not do: in float32, tanh is 1 from 9.01 on, and in bfloat16 from 3.5 on.
    """
    if is_given:
        yield from _selected("saturated_activation", select, _limits_of("tanh", params))
        return
    for function, ops in _SATURATING.items():
        yield {"name": f"{function}_inputs", "reductions": _limits_of(function, params), "read_by": list(ops)}


def _limits_of(function: str, params: Mapping[str, Any]) -> Json:
    limits = (float(params[f"threshold_{function}_{end}"]) for end in ("min", "max"))
    return {"units": _units(params, *limits)}


def _units(params: Mapping[str, Any], lower: float, upper: float | None) -> Json:
    limits = {"from": lower} if upper is None else {"from": lower, "to": upper}
    return {"axis": params["axis"], **limits, "below": params["threshold_inactivity"]}


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
    if "reductions" in need:
        known["reductions"] = {**need["reductions"], **(known.get("reductions") or {})}
    if "save" in need:
        known.setdefault("save", need["save"])
