"""Rules that look at a whole recorded run, and not at one observation after another."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from .finding import Finding
from .observations import Range
from .rule import Rule

if TYPE_CHECKING:
    from graphdbg.runs.run import Run

    from .observation import Observation


class RunRule(Rule):
    """A rule over recorded runs only. Subclasses override `examine` instead of `observe`."""

    @abstractmethod
    def examine(self, run: Run, tensors: Collection[str] | None, limits: Range) -> Iterable[Finding]:
        """Yields the findings in a run.

        Args:
            run: The run.
            tensors: The selected tensors, NODE:SLOT; None: all.
            limits: The steps and ranks to look at.
        """

    def observe(self, state: Any, now: Observation) -> tuple[Any, Finding | None]:
        return state, None
