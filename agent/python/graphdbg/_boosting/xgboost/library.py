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
from ..trees import LEAF, Importance, Tree

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
        margins = booster.predict(data, output_margin=True, validate_features=False)
        return np.asarray(margins.get() if hasattr(margins, "get") else margins)

    def labels(self, booster: Any, data: Any) -> tuple[Array, Array | None]:
        weight = data.get_weight()
        return data.get_label(), weight if weight.size == data.num_row() else None

    def newest_trees(self, booster: Any) -> list[Tree]:
        last = self.rounds(booster)
        try:
            newest = booster[last - 1 : last]
        except Exception as error:
            # Linear boosters cannot be sliced.
            raise NotCaptured(str(error).partition("\n")[0].rpartition(": ")[2]) from None
        return self._trees_of(newest)

    def importance(self, booster: Any) -> Importance:
        zeros = np.zeros(booster.num_features())
        importance = Importance(zeros, zeros)
        importance.add(self._trees_of(booster))
        return importance

    def _trees_of(self, booster: Any) -> list[Tree]:
        model = json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]
        # DART's trees are within.
        model = model.get("gbtree", model).get("model", {})
        if "trees" not in model:
            raise NotCaptured("the booster is linear")
        return [_tree_of(tree) for tree in model["trees"]]


def _tree_of(tree: Any) -> Tree:
    left = np.array(tree["left_children"], np.int32)
    values = np.array(tree["split_conditions"], np.float32)
    targets = int(tree["tree_param"]["size_leaf_vector"])
    return Tree(
        left=np.where(left == -1, LEAF, left),
        right=np.array(tree["right_children"], np.int32),
        feature=np.array(tree["split_indices"], np.int64),
        threshold=values,
        gain=np.array(tree["loss_changes"], np.float32),
        cover=np.array(tree["sum_hessian"], np.float32),
        value=values if targets <= 1 else np.array(tree["base_weights"], np.float32).reshape(-1, targets),
    )
