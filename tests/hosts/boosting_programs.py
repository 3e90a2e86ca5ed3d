"""Trains boosters in one of many ways and prints a digest of the models: boosting_programs.py LIBRARY WAY."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

ROUNDS = 10
generator = np.random.default_rng(7)
rows = generator.normal(size=(400, 6)).astype(np.float32)
signal = rows[:, 0] * rows[:, 1] + rows[:, 2] + generator.normal(size=400)
labels = (signal > 0).astype(np.float32)
classes = np.digitize(signal, [-1, 1]).astype(np.float32)
held_out, held_out_labels = rows[:100], labels[:100]


def logistic(margin: Any, data: Any) -> tuple[Any, Any]:
    probability = 1 / (1 + np.exp(-margin))
    return probability - data.get_label(), probability * (1 - probability)


def train_xgboost(way: str) -> Iterator[bytes]:
    import xgboost

    data = xgboost.DMatrix(rows, label=labels)
    validation = xgboost.DMatrix(held_out, label=held_out_labels)
    params: dict[str, Any] = {"max_depth": 3, "nthread": 1, "seed": 3, "objective": "binary:logistic"}
    evaluated = [(data, "train"), (validation, "valid")]

    def trained(**changes: Any) -> bytes:
        model = xgboost.train(params | changes, data, ROUNDS, evals=evaluated, verbose_eval=False)
        return bytes(model.save_raw("json"))

    if way in ("hist", "exact", "approx"):
        yield trained(tree_method=way)
    elif way == "dart":
        yield trained(booster="dart", rate_drop=0.5)
    elif way == "linear":
        yield trained(booster="gblinear")
    elif way == "parallel":
        yield trained(num_parallel_tree=4, subsample=0.7, colsample_bytree=0.5)
    elif way == "own":
        model = xgboost.train({**params, "objective": "reg:squarederror"}, data, ROUNDS, obj=logistic)
        yield bytes(model.save_raw("json"))
    elif way == "multiclass":
        data.set_label(classes)
        yield trained(objective="multi:softprob", num_class=3)
    elif way == "quantile":
        quantile = xgboost.QuantileDMatrix(rows, label=labels)
        yield bytes(xgboost.train(params, quantile, ROUNDS).save_raw("json"))
    elif way == "targets":
        both = xgboost.DMatrix(rows, label=np.stack([signal, labels], axis=1))
        settings = {**params, "objective": "reg:squarederror", "multi_strategy": "multi_output_tree"}
        yield bytes(xgboost.train(settings, both, ROUNDS).save_raw("json"))
    elif way == "loop":
        booster = xgboost.Booster(params, [data])
        for number in range(ROUNDS):
            booster.update(data, number)
            booster.eval_set(evaluated, number)
        yield bytes(booster.save_raw("json"))
    elif way == "boost":
        booster = xgboost.Booster(params, [data])
        for number in range(ROUNDS):
            gradient, hessian = logistic(booster.predict(data, output_margin=True, training=True), data)
            booster.boost(data, number, grad=gradient, hess=hessian)
        yield bytes(booster.save_raw("json"))
    elif way == "continued":
        first = xgboost.train(params, data, ROUNDS // 2)
        yield bytes(xgboost.train(params, data, ROUNDS - ROUNDS // 2, xgb_model=first).save_raw("json"))
    elif way == "cv":
        yield repr(xgboost.cv(params, data, ROUNDS, nfold=3, seed=1, as_pandas=False)).encode()
    elif way == "stopping":
        model = xgboost.train(
            {**params, "eta": 3.0}, data, 100, evals=evaluated, early_stopping_rounds=2, verbose_eval=False
        )
        yield bytes(model.save_raw("json")) + str(model.best_iteration).encode()
        print("rounds", model.num_boosted_rounds())
    else:
        yield from _sklearn(xgboost, "XGB", way, n_jobs=1, random_state=3, max_depth=3)


def train_lightgbm(way: str) -> Iterator[bytes]:
    import lightgbm

    params: dict[str, Any] = {"max_depth": 3, "num_threads": 1, "seed": 3, "objective": "binary", "verbose": -1}
    params["deterministic"] = True

    def data(label: Any = labels) -> Any:
        return lightgbm.Dataset(rows, label=label, free_raw_data=False)

    def trained(train_set: Any, **changes: Any) -> bytes:
        validation = lightgbm.Dataset(held_out, label=held_out_labels, reference=train_set)
        model = lightgbm.train(
            params | changes, train_set, ROUNDS, valid_sets=[train_set, validation], valid_names=["train", "valid"]
        )
        return str(model.model_to_string()).encode()

    if way == "plain":
        yield trained(data())
    elif way in ("dart", "goss", "rf"):
        yield trained(data(), boosting=way, bagging_fraction=0.7, bagging_freq=int(way == "rf"))
    elif way == "own":
        yield trained(data(), objective=logistic)
    elif way == "multiclass":
        yield trained(data(classes), objective="multiclass", num_class=3)
    elif way == "loop":
        booster = lightgbm.Booster(params, data())
        for _ in range(ROUNDS):
            booster.update()
            booster.eval_train()
        yield str(booster.model_to_string()).encode()
    elif way == "cv":
        yield repr(lightgbm.cv(params, data(), ROUNDS, nfold=3, seed=1)).encode()
    else:
        yield from _sklearn(lightgbm, "LGBM", way, n_jobs=1, random_state=3, max_depth=3, verbose=-1)


def _sklearn(library: Any, prefix: str, way: str, **settings: Any) -> Iterator[bytes]:
    kinds: dict[str, tuple[Any, dict[str, Any]]] = {
        "Classifier": (labels, {}),
        "Regressor": (signal, {}),
        "Ranker": (np.digitize(signal, [-1, 1]), {"group": [100] * 4}),
    }
    label, more = kinds[way]
    model = getattr(library, prefix + way)(n_estimators=ROUNDS, **settings)
    model.fit(rows, label, **more)
    yield np.asarray(model.predict(rows)).tobytes()


def main() -> None:
    libraries: dict[str, Callable[[str], Iterator[bytes]]] = {"xgboost": train_xgboost, "lightgbm": train_lightgbm}
    for model in libraries[sys.argv[1]](sys.argv[2]):
        print("model", hashlib.sha256(model).hexdigest())


main()
