"""What bundles say about the training and about random numbers outside of PyTorch. Called by _hooks."""

from __future__ import annotations

import json
import weakref
from typing import Any

from . import random_states

# In the order in which they were made.
optimizers: weakref.WeakKeyDictionary[Any, None] = weakref.WeakKeyDictionary()
scalers: weakref.WeakSet[Any] = weakref.WeakSet()
# The states of the generators when the step began; None before the first one.
_python: bytes | None = None
_numpy: bytes | None = None


def remember() -> str:
    """Remembers the states of random number generators. A step begins. Returns nothing, as a text."""
    global _python, _numpy
    _python, _numpy = random_states.of_python(), random_states.of_numpy()
    return ""


def describe() -> str:
    """A JSON object: optimizers, gradient scalers, and below "random" what was remembered, as lists of integers."""
    training = {
        "optimizers": [_optimizer(each) for each in list(optimizers)],
        "grad_scalers": [_plain(each.state_dict()) for each in list(scalers)],
        "random": _states(),
    }
    return json.dumps(training)


def _optimizer(optimizer: Any) -> dict[str, Any]:
    groups = [
        {**_plain(group), "parameters": len(group.get("params", ()))}
        for group in getattr(optimizer, "param_groups", ())
    ]
    return {"class": f"{type(optimizer).__module__}.{type(optimizer).__qualname__}", "groups": groups}


def _plain(values: Any) -> dict[str, Any]:
    """The numbers, texts and lists of them of a dictionary."""
    return {str(key): value for key, value in values.items() if _is_plain(value)}


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return len(value) < 100 and all(map(_is_plain, value))
    # Not what json writes as NaN.
    return value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and abs(value) < 1e308)


def _states() -> dict[str, list[int]]:
    """By their names in random.safetensors."""
    states = {}
    if _python is not None:
        states["python"] = random_states.words_of_python(_python)
    if _numpy is not None:
        states["numpy"] = random_states.words_of_numpy(_numpy)
    return states
