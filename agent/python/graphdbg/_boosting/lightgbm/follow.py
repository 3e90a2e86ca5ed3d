"""Makes LightGBM debuggable in this process, right after `import lightgbm`."""

from __future__ import annotations

import functools
import sys
from typing import Any

from ..._log import warn_not_debugged
from ..followed import Followed
from ..rounds import Rounds
from ..versions import LIGHTGBM, Unsupported
from .library import LightGBM

_INNER_EVAL = "_Booster__inner_eval"


def follow() -> None:
    """Follows all boosters that are trained from now on. Never raises."""
    try:
        import lightgbm

        LIGHTGBM.check(str(lightgbm.__version__))
        _Follower(lightgbm).install()
    except Unsupported as error:
        warn_not_debugged(str(error))
    except Exception as error:
        warn_not_debugged(f"cannot follow LightGBM: {error}")


class _Follower:
    """Replaces the methods that train boosters and evaluate them, and the functions that call these."""

    def __init__(self, lightgbm: Any) -> None:
        self._lightgbm = lightgbm
        self._rounds = Rounds(LightGBM(lightgbm))

    def install(self) -> None:
        booster = self._lightgbm.Booster
        booster.update = self._around_update(booster.update)
        setattr(booster, _INNER_EVAL, self._around_eval(getattr(booster, _INNER_EVAL)))
        engine = sys.modules["lightgbm.engine"]
        engine._make_n_folds = self._around_folds(engine._make_n_folds)  # type: ignore[attr-defined]
        for name in ("train", "cv"):
            function = getattr(self._lightgbm, name)
            replaced = self._around_training(function)
            for module in (self._lightgbm, sys.modules.get("lightgbm.engine"), sys.modules.get("lightgbm.sklearn")):
                if getattr(module, name, None) is function:
                    setattr(module, name, replaced)

    def _around_update(self, update: Any) -> Any:
        @functools.wraps(update)
        def wrapper(booster: Any, train_set: Any = None, fobj: Any = None) -> Any:
            followed = self._rounds.begin(booster)
            if followed is None:
                return update(booster, train_set, fobj)
            data = train_set if train_set is not None else booster.train_set
            is_reported = followed.before(booster, data, fobj)
            result = update(booster, train_set, None if fobj is None else _observed(fobj, followed))
            if is_reported:
                followed.after(booster, data)
            return result

        return wrapper

    def _around_eval(self, evaluate: Any) -> Any:
        @functools.wraps(evaluate)
        def wrapper(booster: Any, *args: Any, **kwargs: Any) -> Any:
            results = evaluate(booster, *args, **kwargs)
            followed = self._rounds.followed(booster)
            if followed is not None:
                # By position in earlier versions.
                index = kwargs.get("data_idx", args[1] if len(args) > 1 else -1)
                for data, metric, value, is_maximized, *_ in results:
                    followed.metric(f"{data}-{metric}", float(value), not is_maximized, index == 0)
            return results

        return wrapper

    def _around_folds(self, make: Any) -> Any:
        @functools.wraps(make)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            folds = make(*args, **kwargs)
            group = object()
            for number, booster in enumerate(folds.boosters):
                self._rounds.name(booster, f"fold_{number}", group)
            return folds

        return wrapper

    def _around_training(self, train: Any) -> Any:
        @functools.wraps(train)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            result = train(*args, **kwargs)
            self._rounds.end()
            return result

        return wrapper


def _observed(objective: Any, followed: Followed) -> Any:
    """An objective that reports what another one returns."""

    @functools.wraps(objective, updated=())
    def observed(margin: Any, data: Any) -> Any:
        gradient, hessian = objective(margin, data)
        followed.given(margin, gradient, hessian)
        return gradient, hessian

    return observed
