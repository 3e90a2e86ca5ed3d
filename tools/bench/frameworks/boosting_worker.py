"""Trains boosted trees on one thread: see compare.py."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from slices import serve

# A booster is trained for as many rounds, then the next one.
_ROWS, _COLUMNS, _ROUNDS = 20_000, 30, 50
_ROUNDS_OF_A_SLICE = 5


def _data() -> tuple[Any, Any]:
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(_ROWS, _COLUMNS))
    signal = rows[:, 0] + rows[:, 1] * rows[:, 2] + generator.normal(size=_ROWS)
    return rows, (signal > 0).astype(np.float64)


class _XGBoost:
    def __init__(self) -> None:
        import xgboost

        rows, labels = _data()
        data = xgboost.DMatrix(rows, label=labels)
        params = {"objective": "binary:logistic", "max_depth": 6, "tree_method": "hist", "nthread": 1}
        self.start: Callable[[], Any] = lambda: xgboost.Booster(params, [data])
        self.train: Callable[[Any, int], Any] = lambda booster, number: booster.update(data, number)
        self.model: Callable[[Any], bytes] = lambda booster: bytes(booster.save_raw("json"))


class _LightGBM:
    def __init__(self) -> None:
        import lightgbm

        rows, labels = _data()
        params = {"objective": "binary", "max_depth": 6, "num_threads": 1, "verbose": -1, "deterministic": True}
        data = lightgbm.Dataset(rows, label=labels, params=params)
        self.start: Callable[[], Any] = lambda: lightgbm.Booster(params, data)
        self.train: Callable[[Any, int], Any] = lambda booster, number: booster.update()
        self.model: Callable[[Any], bytes] = lambda booster: str(booster.model_to_string()).encode()


_WORKLOADS = {"xgboost": _XGBoost, "lightgbm": _LightGBM}


def main() -> None:
    if sys.argv[1] == "--list":
        for name in _WORKLOADS:
            print(name, _ROUNDS_OF_A_SLICE)
        return
    library = _WORKLOADS[sys.argv[1]]()
    booster, number = library.start(), 0

    def train() -> None:
        nonlocal booster, number
        if number == _ROUNDS:
            booster, number = library.start(), 0
        library.train(booster, number)
        number += 1

    serve(train, lambda: None, lambda: [library.model(booster)])


main()
