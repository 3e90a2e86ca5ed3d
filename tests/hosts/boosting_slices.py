"""Trains with XGBoost and writes the margins of the model after each round, and its trees: boosting_slices.py FILE."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import xgboost

ROUNDS = 4
generator = np.random.default_rng(2)
rows = generator.normal(size=(50, 4))
# In a model, the names of its features come before its trees.
features = ["trees", "width", "height", "age"]
data = xgboost.DMatrix(rows, label=(rows[:, 0] * rows[:, 1] > 0).astype(float), feature_names=features)
params = {"nthread": 1, "max_depth": 4, "objective": "binary:logistic", "min_child_weight": 0.1}
evaluated = [(data, "train"), (xgboost.DMatrix(rows[:20], label=[0] * 20, feature_names=features), "valid")]
model = xgboost.train(params, data, ROUNDS, evals=evaluated, verbose_eval=False)


def nodes_of(tree: Any) -> list[str]:
    return [tree.get("split", "leaf")] + [node for child in tree.get("children", ()) for node in nodes_of(child)]


def columns_of(round_: int) -> list[list[float]]:
    """The values of leaves, the thresholds and the gains of splits, and the covers of all nodes."""
    [tree] = json.loads(model[round_ : round_ + 1].save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"]
    leaves = [row for row, left in enumerate(tree["left_children"]) if left == -1]
    splits = [row for row, left in enumerate(tree["left_children"]) if left != -1]
    chosen = [("split_conditions", leaves), ("split_conditions", splits), ("loss_changes", splits)]
    return [[tree[name][row] for row in rows] for name, rows in chosen] + [tree["sum_hessian"]]


facts = {
    "columns": [columns_of(round_) for round_ in range(ROUNDS)],
    "margins": [model[:r].predict(data, output_margin=True).tolist() for r in range(1, ROUNDS + 1)],
    "trees": [nodes_of(json.loads(dump)) for dump in model.get_dump(dump_format="json")],
}
Path(sys.argv[1]).write_text(json.dumps(facts))
