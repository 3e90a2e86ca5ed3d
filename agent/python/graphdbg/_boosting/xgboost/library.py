"""XGBoost's boosters."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import objectives
from ..arrays import Array
from ..library import NotCaptured, Objective
from ..objectives import Formula
from ..trees import Importance, Tree
from . import ubjson
from .native import Native

# By objective, with the groups and names of the parameters that its formula needs.
_FORMULAS: dict[str, tuple[Formula, tuple[str, ...]]] = {
    "reg:squarederror": (objectives.squared, ()),
    "reg:squaredlogerror": (objectives.squared_log, ()),
    "reg:absoluteerror": (objectives.absolute, ()),
    "reg:pseudohubererror": (objectives.pseudo_huber, ("pseudo_huber_param", "huber_slope")),
    "reg:logistic": (objectives.logistic, ("reg_loss_param", "scale_pos_weight")),
    "binary:logistic": (objectives.logistic, ("reg_loss_param", "scale_pos_weight")),
    "binary:logitraw": (objectives.logistic, ("reg_loss_param", "scale_pos_weight")),
    "binary:hinge": (objectives.hinge, ()),
    "multi:softmax": (objectives.softmax, ()),
    "multi:softprob": (objectives.softmax, ()),
    "count:poisson": (objectives.poisson, ("poisson_regression_param", "max_delta_step")),
    "reg:gamma": (objectives.gamma, ()),
    "reg:tweedie": (objectives.tweedie, ("tweedie_regression_param", "tweedie_variance_power")),
}
# Links from the base score to the margin.
_LINKS: dict[str, Callable[[Array], Array]] = {
    "reg:logistic": lambda p: np.log(p / (1 - p)),
    "binary:logistic": lambda p: np.log(p / (1 - p)),
    "binary:logitraw": lambda p: np.log(p / (1 - p)),
    "count:poisson": np.log,
    "reg:gamma": np.log,
    "reg:tweedie": np.log,
}


class XGBoost:
    module = "xgboost"
    title = "XGBoost"

    def __init__(self, xgboost: Any) -> None:
        self.version = str(xgboost.__version__)
        self._native = Native(xgboost.core)
        # Those that were asked for last: the same array is read and kept in each round.
        self._label: Array | None = None
        self._weight: Array | None = None

    def objective(self, booster: Any) -> Objective:
        learner = json.loads(booster.save_config())["learner"]
        name = str(learner["objective"]["name"])
        if learner["gradient_booster"]["name"] == "dart":
            return Objective(name, reason="DART leaves out trees at random")
        if name.startswith("rank:"):
            return Objective(name, reason="ranking compares rows with each other")
        formula, place = _FORMULAS.get(name, (None, ()))
        value = learner["objective"].get(place[0], {}).get(place[1]) if place else None
        return Objective(name, formula, {} if value is None else {place[1]: float(value)})

    def features(self, booster: Any) -> Sequence[str]:
        return booster.feature_names or [f"f{number}" for number in range(booster.num_features())]

    def rounds(self, booster: Any) -> int:
        return int(booster.num_boosted_rounds())

    def first_margins(self, booster: Any, data: Any, like: Array) -> Array:
        given = data.get_base_margin()
        if given.size:
            return given.reshape(like.shape)
        learner = json.loads(booster.save_config())["learner"]
        scores = np.array(json.loads(learner["learner_model_param"]["base_score"]), np.float64)
        link = _LINKS.get(learner["objective"]["name"], lambda score: score)
        return np.ascontiguousarray(np.broadcast_to(link(scores), like.shape), like.dtype)

    def margins(self, booster: Any, data: Any) -> Array:
        return self._native.margins(booster, data)

    def labels(self, booster: Any, data: Any) -> tuple[Array, Array | None]:
        label = self._label = self._native.numbers(data, b"label", self._label)
        weight = self._weight = self._native.numbers(data, b"weight", self._weight)
        return label, weight if weight.size and weight.size == data.num_row() else None

    def newest_trees(self, booster: Any) -> list[Tree]:
        try:
            model = self._native.model_of_round(booster, self.rounds(booster))
        except Exception as error:
            # Linear boosters cannot be sliced.
            raise NotCaptured(str(error).partition("\n")[0].rpartition(": ")[2]) from None
        return _trees_in(model)

    def importance(self, booster: Any) -> Importance:
        zeros = np.zeros(booster.num_features())
        importance = Importance(zeros, zeros)
        importance.add(_trees_in(bytes(booster.save_raw("ubj"))))
        return importance


def _trees_in(document: bytes) -> list[Tree]:
    trees = ubjson.find_list(document, "trees")
    if trees is None:
        raise NotCaptured("the booster is linear")
    return [_tree_of(tree) for tree in trees]


def _tree_of(tree: Any) -> Tree:
    values = ubjson.native(tree["split_conditions"])
    targets = int(tree["tree_param"]["size_leaf_vector"])
    return Tree(
        # The children of leaves are LEAF.
        left=ubjson.native(tree["left_children"]),
        right=ubjson.native(tree["right_children"]),
        feature=ubjson.native(tree["split_indices"]),
        threshold=values,
        gain=ubjson.native(tree["loss_changes"]),
        cover=ubjson.native(tree["sum_hessian"]),
        value=values if targets <= 1 else ubjson.native(tree["base_weights"]).reshape(-1, targets),
    )
