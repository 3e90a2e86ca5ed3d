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
data = xgboost.DMatrix(rows, label=(rows[:, 0] * rows[:, 1] > 0).astype(float))
params = {"nthread": 1, "max_depth": 4, "objective": "binary:logistic", "min_child_weight": 0.1}
evaluated = [(data, "train"), (xgboost.DMatrix(rows[:20], label=[0] * 20), "valid")]
model = xgboost.train(params, data, ROUNDS, evals=evaluated, verbose_eval=False)


def nodes_of(tree: Any) -> list[str]:
    return [tree.get("split", "leaf")] + [node for child in tree.get("children", ()) for node in nodes_of(child)]


facts = {
    "margins": [model[:r].predict(data, output_margin=True).tolist() for r in range(1, ROUNDS + 1)],
    "trees": [nodes_of(json.loads(dump)) for dump in model.get_dump(dump_format="json")],
}
Path(sys.argv[1]).write_text(json.dumps(facts))
