"""Makes XGBoost debuggable in this process, right after `import xgboost`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from typing import Any

from ..._log import warn_not_debugged
from ..followed import GIVEN, Followed
from ..rounds import Rounds
from ..versions import XGBOOST, Unsupported
from .library import XGBoost

# What XGBoost's own early stopping maximizes.
_MAXIMIZED = ("auc", "aucpr", "pre", "map", "ndcg", "interval-regression-accuracy")


def follow() -> None:
    """Follows all boosters that are trained from now on. Never raises."""
    try:
        import xgboost

        XGBOOST.check(str(xgboost.__version__))
        _Follower(xgboost).install()
    except Unsupported as error:
        warn_not_debugged(str(error))
    except Exception as error:
        warn_not_debugged(f"cannot follow XGBoost: {error}")


class _Follower:
    """Replaces the methods that train boosters and evaluate them."""

    def __init__(self, xgboost: Any) -> None:
        self._xgboost = xgboost
        self._rounds = Rounds(XGBoost(xgboost))
        # The ids of boosters whose `update` is running: their `boost` is a part of it.
        self._updating: set[int] = set()

    def install(self) -> None:
        booster = self._xgboost.Booster
        booster.update = self._around_update(booster.update)
        booster.boost = self._around_boost(booster.boost)
        booster.eval_set = self._around_eval_set(booster.eval_set)
        container = self._xgboost.callback.CallbackContainer
        container.after_training = self._around_after_training(container.after_training)
        folds = self._xgboost.training._PackedBooster
        folds.__init__ = self._around_folds(folds.__init__)

    def _around_update(self, update: Any) -> Any:
        arguments = _Arguments(update)

        @functools.wraps(update)
        def wrapper(booster: Any, *args: Any, **kwargs: Any) -> Any:
            followed = self._rounds.begin(booster)
            if followed is None:
                return update(booster, *args, **kwargs)
            data, objective = arguments.of("dtrain", args, kwargs), arguments.of("fobj", args, kwargs)
            followed.trained_on(data)
            is_reported = followed.before(booster, data, objective)
            if not is_reported and objective is None:
                return update(booster, *args, **kwargs)
            self._updating.add(id(booster))
            try:
                result = update(booster, *args, **kwargs)
            finally:
                self._updating.discard(id(booster))
            if is_reported:
                followed.after(booster, data)
            return result

        return wrapper

    def _around_boost(self, boost: Any) -> Any:
        """Reports the gradients that are given, or those of an objective. A call by `update` begins no round."""
        arguments = _Arguments(boost)

        @functools.wraps(boost)
        def wrapper(booster: Any, *args: Any, **kwargs: Any) -> Any:
            is_inner = id(booster) in self._updating
            followed = self._rounds.followed(booster) if is_inner else self._rounds.begin(booster)
            if followed is None:
                return boost(booster, *args, **kwargs)
            data, objective = arguments.of("dtrain", args, kwargs), arguments.of("fobj", args, kwargs)
            is_reported = False
            if not is_inner:
                followed.trained_on(data)
                is_reported = followed.before(booster, data, GIVEN if objective is None else objective)
            if objective is None:
                followed.given(None, arguments.of("grad", args, kwargs), arguments.of("hess", args, kwargs))
            else:
                kwargs = {**kwargs, "fobj": self._observed(objective, followed)}
            result = boost(booster, *args, **kwargs)
            if is_reported:
                followed.after(booster, data)
            return result

        return wrapper

    def _observed(self, objective: Any, followed: Followed) -> Any:
        """An objective that reports what another one returns, and is of the same class to XGBoost."""
        base = getattr(self._xgboost.objective, "Objective", None) if hasattr(self._xgboost, "objective") else None
        if base is not None and isinstance(objective, base):
            return _observed_object(objective, followed)

        @functools.wraps(objective)
        def observed(margin: Any, data: Any) -> Any:
            gradient, hessian = objective(margin, data)
            followed.given(margin, gradient, hessian)
            return gradient, hessian

        return observed

    def _around_eval_set(self, eval_set: Any) -> Any:
        @functools.wraps(eval_set)
        def wrapper(booster: Any, evals: Any, *args: Any, **kwargs: Any) -> Any:
            evals = list(evals)
            result = eval_set(booster, evals, *args, **kwargs)
            followed = self._rounds.followed(booster)
            if followed is not None and isinstance(result, str):
                training = {name for each, name in evals if followed.is_trained_on(each)}
                for name, value in _metrics_in(result):
                    data_name, _, metric = name.partition("-")
                    is_loss = not metric.partition("@")[0].startswith(_MAXIMIZED)
                    followed.metric(name, value, is_loss, data_name in training)
            return result

        return wrapper

    def _around_after_training(self, after_training: Any) -> Any:
        @functools.wraps(after_training)
        def wrapper(container: Any, model: Any) -> Any:
            result = after_training(container, model)
            self._rounds.end()
            return result

        return wrapper

    def _around_folds(self, init: Any) -> Any:
        @functools.wraps(init)
        def wrapper(folds: Any, cvfolds: Any) -> None:
            init(folds, cvfolds)
            group = object()
            for number, fold in enumerate(cvfolds):
                self._rounds.name(fold.bst, f"fold_{number}", group)

        return wrapper


class _Arguments:
    """Finds the arguments of calls of a booster's method by their names."""

    def __init__(self, method: Any) -> None:
        # The first parameter is the booster.
        self._places = {name: place for place, name in enumerate(inspect.signature(method).parameters, -1)}

    def of(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """None if the call has no such argument: XGBoost reports wrong ones."""
        place = self._places.get(name)
        return args[place] if place is not None and place < len(args) else kwargs.get(name)


def _observed_object(objective: Any, followed: Followed) -> Any:
    """The same for an object of the class Objective, which the program may use elsewhere, too."""

    class Observed(type(objective)):  # type: ignore[misc]
        def __init__(self) -> None:
            pass

        def __getattr__(self, name: str) -> Any:
            return getattr(objective, name)

        def __call__(self, iteration: int, margin: Any, data: Any) -> Any:
            gradient, hessian = objective(iteration, margin, data)
            followed.given(margin, gradient, hessian)
            return gradient, hessian

        def split_grad(self, *args: Any, **kwargs: Any) -> Any:
            return objective.split_grad(*args, **kwargs)

    return Observed()


def _metrics_in(text: str) -> Iterator[tuple[str, float]]:
    """The metrics in what `eval_set` returns: `[0]<tab>train-rmse:0.5<tab>...`."""
    for part in text.split("\t")[1:]:
        name, _, value = part.rpartition(":")
        try:
            yield name, float(value)
        except ValueError:
            continue
