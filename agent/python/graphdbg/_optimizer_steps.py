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

    def __init__(self, step_end: Callable[[], None], passed: Callable[[], int] = lambda: 0) -> None:
        """`passed` returns how many steps of the leading optimizer have not been counted here."""
        self._step_end = step_end
        self._passed = passed
        self._leader: weakref.ref[Any] | None = None
        self._stepped: set[int] = set()
        self._counted = 0
        # Idents of the threads that call optimizers.
        self.threads: set[int] = set()

    @property
    def calls(self) -> int:
        """The number of steps of all optimizers."""
        return self._counted + self._passed()

    def leads_alone(self, optimizer: Any) -> bool:
        """Whether each further step of this optimizer ends a step of the job, as long as no other one steps."""
        return self._leader is not None and self._leader() is optimizer and not self._stepped

    def __call__(self, optimizer: Any, args: Any = None, kwargs: Any = None) -> None:
        """A hook for torch.optim's register_optimizer_step_post_hook."""
        self._counted += 1
        self.threads.add(get_ident())
        leader = self._leader() if self._leader is not None else None
        if leader is not optimizer:
            if leader is not None and id(optimizer) not in self._stepped:
                self._stepped.add(id(optimizer))
                return
            self._leader = weakref.ref(optimizer)
        self._stepped.clear()
        self._step_end()
