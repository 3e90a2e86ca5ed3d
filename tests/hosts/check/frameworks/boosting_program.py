"""Trains boosted trees with XGBoost, with a fault: none, labels, objective."""

import sys
from typing import Any

import numpy as np
import xgboost

fault = sys.argv[1]
random = np.random.default_rng(0)
X = random.standard_normal((50, 4))
Y = (X[:, 0] > 0).astype("f4")
data = xgboost.DMatrix(X, label=Y[:-1] if fault == "labels" else Y)  # labels


def own(margin: Any, data: Any) -> Any:
    return margin - data.get_label().reshape(2, -1), np.ones_like(margin)  # objective


xgboost.train({"max_depth": 2, "nthread": 1}, data, 4, obj=own if fault == "objective" else None)
