"""Waits until the program trains with TensorFlow, where it has imported another framework first."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from .. import _import_hook
from .keras import OPTIMIZERS


class FirstTraining:
    def __init__(self, begin: Callable[[], None]) -> None:
        """`begin` is called before the first gradient, or before the first optimizer of Keras is made."""
        self._begin: Callable[[], None] | None = begin

    def wait(self) -> None:
        from tensorflow.python.eager.backprop import GradientTape

        self._before(GradientTape, "__enter__")
        _import_hook.after_import(OPTIMIZERS, self._before_optimizers)

    def _before_optimizers(self) -> None:
        from keras.src.backend.config import backend
        from keras.src.optimizers.base_optimizer import BaseOptimizer

        if backend() == "tensorflow":
            self._before(BaseOptimizer, "__init__")

    def _before(self, cls: Any, name: str) -> None:
        original = getattr(cls, name)

        @wraps(original)
        def first(*args: Any, **kwargs: Any) -> Any:
            begin, self._begin = self._begin, None
            if begin is None:
                return original(*args, **kwargs)
            # The adapter replaces the method, too.
            setattr(cls, name, original)
            begin()
            return getattr(cls, name)(*args, **kwargs)

        setattr(cls, name, first)
