"""Trains with an objective of its own, whose gradient has a NaN in row 3 of round 2: boosting_nan.py LIBRARY.

With another argument, a booster of 3 rounds is trained before.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

ROUNDS = 4
generator = np.random.default_rng(1)
rows = generator.normal(size=(200, 4))
labels = (rows[:, 0] > 0).astype(np.float64)
calls = 0


def logistic(margin: Any, data: Any) -> tuple[Any, Any]:  # first bad value
    global calls
    calls += 1
    probability = 1 / (1 + np.exp(-margin))
    gradient, hessian = probability - data.get_label(), probability * (1 - probability)
    if calls == 2:
        gradient[3] = np.nan
    return gradient, hessian


if sys.argv[1] == "xgboost":
    import xgboost

    objective = functools.partial(logistic)
    data = xgboost.DMatrix(rows, label=labels)
    if sys.argv[2:]:
        xgboost.train({"nthread": 1, "max_depth": 2}, data, 3)
    xgboost.train({"nthread": 1, "max_depth": 2}, data, ROUNDS, obj=objective)
else:
    import lightgbm

    params = {"num_threads": 1, "max_depth": 2, "verbose": -1}
    if sys.argv[2:]:
        lightgbm.train(params, lightgbm.Dataset(rows, label=labels), 3)
    lightgbm.train({**params, "objective": logistic}, lightgbm.Dataset(rows, label=labels), ROUNDS)
print("trained")
