"""Trains boosted trees for compare.py: boosting_worker.py WORKLOAD, or --list.

Prints the CPU time of a round, as a line "cpu MILLISECONDS": the mean over the best time of each round,
which other programs on the machine disturb least; and a digest of the model, as a line "digest TEXT".
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

_ROWS, _COLUMNS, _ROUNDS, _REPETITIONS = 20_000, 30, 50, 6


def _data() -> tuple[Any, Any]:
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(_ROWS, _COLUMNS))
    signal = rows[:, 0] + rows[:, 1] * rows[:, 2] + generator.normal(size=_ROWS)
    return rows, (signal > 0).astype(np.float64)


def _train_xgboost() -> tuple[list[list[float]], bytes]:
    import xgboost

    rows, labels = _data()
    data = xgboost.DMatrix(rows, label=labels)
    params = {"objective": "binary:logistic", "max_depth": 6, "tree_method": "hist", "nthread": 1}
    times: list[list[float]] = [[] for _ in range(_ROUNDS)]
    for _ in range(_REPETITIONS):
        booster = xgboost.Booster(params, [data])
        for number in range(_ROUNDS):
            times[number].append(_seconds(lambda b=booster, n=number: b.update(data, n)))
    return times, bytes(booster.save_raw("json"))


def _train_lightgbm() -> tuple[list[list[float]], bytes]:
    import lightgbm

    rows, labels = _data()
    params = {"objective": "binary", "max_depth": 6, "num_threads": 1, "verbose": -1, "deterministic": True}
    data = lightgbm.Dataset(rows, label=labels, params=params)
    times: list[list[float]] = [[] for _ in range(_ROUNDS)]
    for _ in range(_REPETITIONS):
        booster = lightgbm.Booster(params, data)
        for number in range(_ROUNDS):
            times[number].append(_seconds(booster.update))
    return times, str(booster.model_to_string()).encode()


def _seconds(train: Callable[[], Any]) -> float:
    start = time.thread_time()
    train()
    return time.thread_time() - start


_WORKLOADS = {"xgboost": _train_xgboost, "lightgbm": _train_lightgbm}


def main() -> None:
    if sys.argv[1] == "--list":
        print(*_WORKLOADS)
        return
    times, model = _WORKLOADS[sys.argv[1]]()
    print("cpu", f"{1e3 * sum(min(each) for each in times) / len(times):.3f}")
    print("digest", hashlib.sha256(model).hexdigest())


main()
