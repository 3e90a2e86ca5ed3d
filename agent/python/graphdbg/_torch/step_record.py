"""What bundles say about the training and about random numbers outside of PyTorch. Called by _hooks."""

from __future__ import annotations

import json
import random
import sys
import weakref
from typing import Any

# In the order in which they were made.
optimizers: weakref.WeakKeyDictionary[Any, None] = weakref.WeakKeyDictionary()
scalers: weakref.WeakSet[Any] = weakref.WeakSet()
# The states of the generators when the step began, by their names in random.safetensors.
_random: dict[str, Any] = {}


def remember() -> str:
    """Remembers the states of random number generators. A step begins. Returns nothing, as a text."""
    _random.clear()
    _random["python"] = random.getstate()
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "random"):
        _random["numpy"] = numpy.random.get_state()
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
    states = {}
    if "python" in _random:
        states["python"] = list(_random["python"][1])
    # Only the generator that numpy.random.seed sets has this form.
    if "numpy" in _random and _random["numpy"][0] == "MT19937":
        states["numpy"] = [*map(int, _random["numpy"][1]), int(_random["numpy"][2])]
    return states
