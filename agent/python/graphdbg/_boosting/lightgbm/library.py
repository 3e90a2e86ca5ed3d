"""LightGBM's boosters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import objectives
from ..arrays import Array
from ..library import Objective
from ..objectives import Formula
from ..trees import LEAF, Importance, Tree

_FORMULAS: dict[str, Formula] = {
    "regression": objectives.squared,
    "regression_l1": objectives.absolute,
    "binary": objectives.scaled_logistic,
    "cross_entropy": objectives.logistic,
    "multiclass": objectives.softmax,
    "poisson": objectives.poisson,
    "gamma": objectives.gamma,
    "tweedie": objectives.tweedie,
}
# Parameters that formulas need, if the user has set them. Those that change gradients in
# ways that no formula knows have the value None.
_PARAMETERS = {
    "scale_pos_weight": "scale_pos_weight",
    "poisson_max_delta_step": "max_delta_step",
    "tweedie_variance_power": "tweedie_variance_power",
    "is_unbalance": None,
    "unbalance": None,
    "reg_sqrt": None,
}
_RANKING = ("lambdarank", "rank_xendcg")
_BOOSTING = ("boosting", "boosting_type", "boost")


class LightGBM:
    module = "lightgbm"
    title = "LightGBM"

    def __init__(self, lightgbm: Any) -> None:
        self.version = str(lightgbm.__version__)

    def objective(self, booster: Any) -> Objective:
        # Such as "binary sigmoid:1" and "multiclass num_class:3".
        text = str(booster.dump_model(start_iteration=0, num_iteration=1).get("objective", ""))
        name, *given = text.split()
        parameters = {
            key: float(value) for key, _, value in (each.partition(":") for each in given) if _is_number(value)
        }
        settings = getattr(booster, "params", None) or {}
        if name in _RANKING:
            return Objective(name, reason="ranking compares rows with each other")
        if any(settings.get(key) in ("dart", "rf", "random_forest") for key in _BOOSTING):
            return Objective(name, reason="the margins of a round are not those of all trees")
        for key, parameter in _PARAMETERS.items():
            if settings.get(key):
                if parameter is None:
                    return Objective(name, reason=f"the parameter {key} changes them")
                parameters[parameter] = float(settings[key])
        if name == "multiclass":
            classes = parameters.get("num_class", 2.0)
            parameters["hessian_factor"] = classes / (classes - 1)
        return Objective(name, _FORMULAS.get(name), parameters)

    def features(self, booster: Any) -> Sequence[str]:
        names: list[str] = booster.feature_name()
        return names

    def rounds(self, booster: Any) -> int:
        return int(booster.current_iteration())

    def first_margins(self, booster: Any, data: Any, like: Array) -> None:
        # Within the first round, LightGBM adds to them what it makes of the labels' average.
        return None

    def margins(self, booster: Any, data: Any) -> Array:
        # As `Booster.update` gives them to an objective: predict() cannot read the training data.
        return np.array(booster._Booster__inner_predict(data_idx=0), order="C")

    def labels(self, booster: Any, data: Any) -> tuple[Array, Array | None]:
        weight = data.get_weight()
        return np.asarray(data.get_label()), None if weight is None else np.asarray(weight)

    def newest_trees(self, booster: Any) -> list[Tree]:
        # Trees of a model that training went on from are not among those of `dump_model`.
        model = booster.dump_model(start_iteration=self.rounds(booster) - 1, num_iteration=1)
        return [_tree_of(tree["tree_structure"]) for tree in model["tree_info"]]

    def importance(self, booster: Any) -> Importance:
        return Importance(
            booster.feature_importance("split", iteration=-1), booster.feature_importance("gain", iteration=-1)
        )


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def _tree_of(root: dict[str, Any]) -> Tree:
    nodes, children = [root], []
    for node in nodes:
        if "left_child" in node:
            children.append((len(nodes), len(nodes) + 1))
            nodes += [node["left_child"], node["right_child"]]
        else:
            children.append((LEAF, LEAF))
    return Tree(
        left=np.array([left for left, _ in children], np.int32),
        right=np.array([right for _, right in children], np.int32),
        feature=np.array([node.get("split_feature", 0) for node in nodes], np.int64),
        threshold=np.array([_threshold(node) for node in nodes], np.float64),
        gain=np.array([node.get("split_gain", 0) for node in nodes], np.float32),
        cover=np.array([node.get("internal_count", node.get("leaf_count", 0)) for node in nodes], np.float64),
        value=np.array([node.get("leaf_value", 0) for node in nodes], np.float64),
    )


def _threshold(node: dict[str, Any]) -> float:
    """That of a split of numbers; NaN would be a hit, so 0 stands for sets of categories."""
    threshold = node.get("threshold", 0)
    return float(threshold) if isinstance(threshold, (int, float)) else 0.0
