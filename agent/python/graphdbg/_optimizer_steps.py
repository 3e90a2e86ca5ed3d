"""Decides which optimizer steps end a step of the job."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from threading import get_ident
from typing import Any


class StepCounter:
    """Ends a step of the job after each step of the leading optimizer.

    A program may have several optimizers, such as a generator's and a
    discriminator's, which step equally often or not. The first optimizer to step
    leads. Another one takes the lead if it steps twice without a step of the leader,
    or if the leader no longer exists.
    """

    def __init__(self, step_end: Callable[[], None]) -> None:
        self._step_end = step_end
        self._leader: weakref.ref[Any] | None = None
        self._stepped: set[int] = set()
        # The number of steps of all optimizers.
        self.calls = 0
        # Idents of the threads that call optimizers.
        self.threads: set[int] = set()

    def __call__(self, optimizer: Any, args: Any = None, kwargs: Any = None) -> None:
        """A hook for torch.optim's register_optimizer_step_post_hook."""
        self.calls += 1
        self.threads.add(get_ident())
        leader = self._leader() if self._leader is not None else None
        if leader is not optimizer:
            if leader is not None and id(optimizer) not in self._stepped:
                self._stepped.add(id(optimizer))
                return
            self._leader = weakref.ref(optimizer)
        self._stepped.clear()
        self._step_end()
