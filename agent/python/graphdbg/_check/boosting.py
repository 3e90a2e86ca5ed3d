"""Observes programs that train boosted trees: a round is a step."""

from __future__ import annotations

import functools
import importlib
import inspect
import threading
from typing import Any

from .first_steps import FirstSteps
from .guard import guarded
from .progress import Progress

_TITLES = {"xgboost": "XGBoost", "lightgbm": "LightGBM"}


def install(progress: Progress, framework: str) -> None:
    module = importlib.import_module(framework)
    progress.framework_imported(_TITLES[framework], str(module.__version__))
    _Watcher(progress).install(module)


class _Watcher:
    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._steps = FirstSteps(progress)
        self._thread = threading.local()

    def install(self, module: Any) -> None:
        booster = module.Booster
        data = module.DMatrix if hasattr(module, "DMatrix") else module.Dataset
        data.__init__ = self._around_data(data.__init__)
        booster.__init__ = self._around_model(booster.__init__)
        booster.update = self._around_round(booster.update)
        if hasattr(booster, "boost"):
            booster.boost = self._around_round(booster.boost)

    def _around_data(self, initialize: Any) -> Any:
        @functools.wraps(initialize)
        def data_made(data: Any, *args: Any, **kwargs: Any) -> None:
            self._begin("data")
            initialize(data, *args, **kwargs)
            self._ran("data")

        return data_made

    def _around_model(self, initialize: Any) -> Any:
        @functools.wraps(initialize)
        def model_made(booster: Any, *args: Any, **kwargs: Any) -> None:
            self._begin("model")
            initialize(booster, *args, **kwargs)
            self._ran("model")

        return model_made

    def _around_round(self, train: Any) -> Any:
        arguments_of = inspect.signature(train)

        @functools.wraps(train)
        def round_made(booster: Any, *args: Any, **kwargs: Any) -> Any:
            if getattr(self._thread, "inside", False):
                return train(booster, *args, **kwargs)
            self._thread.inside = True
            try:
                self._begin("forward")
                bound = _bound(arguments_of, booster, args, kwargs)
                if bound is not None and callable(bound.arguments.get("fobj")):
                    bound.arguments["fobj"] = self._objective(bound.arguments["fobj"])
                    result = train(*bound.args, **bound.kwargs)
                else:
                    result = train(booster, *args, **kwargs)
            finally:
                self._thread.inside = False
            self._ran("model", "data", "forward", "loss", "backward", "optimizer")
            self._steps.end()
            return result

        return round_made

    def _objective(self, own: Any) -> Any:
        """The program's own objective, with a frame that tells the stage of its errors."""
        if not hasattr(own, "__code__"):
            return own

        @functools.wraps(own)
        def objective(*args: Any, **kwargs: Any) -> Any:
            self._begin("loss")
            return own(*args, **kwargs)

        return objective

    @guarded
    def _begin(self, stage: str) -> None:
        self._progress.begin(stage)

    @guarded
    def _ran(self, *stages: str) -> None:
        self._steps.ran(*stages)


def _bound(signature: inspect.Signature, booster: Any, args: Any, kwargs: Any) -> Any:
    try:
        return signature.bind(booster, *args, **kwargs)
    except TypeError:
        return None
