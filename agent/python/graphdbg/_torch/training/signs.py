"""Notices at each step, within microseconds, that something has changed on which findings depend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from .models import Models


class SignHooks(Protocol):
    """The functions of _hooks that compare a step with the one before."""

    def forget_signs(self) -> None: ...
    def follow_modes(self, models: list[Any], /) -> None: ...
    def sign_before_step(self, optimizer: Any, /) -> bool: ...
    def sign_before_backward(self, roots: Sequence[Any], /) -> bool: ...


class Signs:
    """Compares a step with the one before.

    Each method returns whether something has changed. It need not be a fault. They run in
    each step of the program, unless the steps are passed (see pass_steps_of in _hooks.pyi).
    """

    def __init__(self, hooks: SignHooks, models: Models) -> None:
        self._hooks = hooks
        self._models = models
        # The revision of the models whose modes are followed.
        self._revision = -1
        # By dataset: how many successive batches were the first ones of their iterators.
        self._first_batches: dict[int, int] = {}
        hooks.forget_signs()

    def delivered(self, iterator: Any) -> bool:
        """A data loader's iterator has returned a batch."""
        dataset = id(iterator._dataset)
        count = self._first_batches.get(dataset, 0) + 1 if iterator._num_yielded == 1 else 0
        self._first_batches[dataset] = count
        return count == 2

    def backward(self, roots: Sequence[Any]) -> bool:
        return self._hooks.sign_before_backward(roots)

    def before_step(self, optimizer: Any) -> bool:
        if self._models.revision != self._revision:
            self._revision = self._models.revision
            self._hooks.follow_modes(self._models.with_modes())
        return self._hooks.sign_before_step(optimizer)
