"""Which models compute what other models are given, as a generator and an encoder do."""

from __future__ import annotations

import weakref
from typing import Any

from .check import ModelCall
from .samples import tensors_in


class Feeding:
    """Compares the arguments of each call with the last results of other models.

    A generator that is called alone makes samples; only together with the models that it feeds
    it is evaluated.
    """

    def __init__(self) -> None:
        # The addresses of the storages of each model's last results.
        self._results: weakref.WeakKeyDictionary[Any, set[int]] = weakref.WeakKeyDictionary()
        self._feeds: weakref.WeakSet[Any] = weakref.WeakSet()

    def add(self, call: ModelCall, output: Any) -> None:
        """A model has returned."""
        self._results[call.module] = _addresses_in(output)

    def models_before(self, call: ModelCall) -> list[Any]:
        """The models whose results this call is given."""
        if len(self._results) < 2 and call.module in self._results:
            return []
        given = _addresses_in(call.arguments)
        others = [(model, results) for model, results in self._results.items() if model is not call.module]
        before = [model for model, results in others if not results.isdisjoint(given)]
        if call.trains:
            self._feeds.update(before)
        return before

    def feeds(self, model: Any) -> bool:
        """Whether its results have been given to another model in training."""
        return model in self._feeds


def _addresses_in(value: Any) -> set[int]:
    return {each.data_ptr() - each.storage_offset() * each.element_size() for each in tensors_in(value)}
