"""One observation of a series, as a rule in Python sees it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphdbg.client.models import Statistics
    from graphdbg.runs.record import Array


class Observation(ABC):
    """An execution of a tensor's op in one step on one rank; or, for rules on steps, a step.

    Attributes:
        rank: The rank.
        tensor: NODE:SLOT; "" for a step.
        step: The step, from 1.
        mode: "train", "eval", "predict" or "unknown".
        mode_step: The number of the step or pass among those of its mode, from 1; 0 if it is not known.
        pass_: The pass of its mode within the step, from 1; 0 outside of passes.
    """

    def __init__(self, rank: int, tensor: str, step: int, mode: str, pass_: int) -> None:
        self.rank = rank
        self.tensor = tensor
        self.step = step
        self.mode = mode
        self.pass_ = pass_

    def __repr__(self) -> str:
        return f"Observation({self.tensor or 'step'!r}, step={self.step}, mode={self.mode!r}, rank={self.rank})"

    @property
    @abstractmethod
    def mode_step(self) -> int: ...

    @property
    @abstractmethod
    def time(self) -> float | None:
        """When its step or pass began, in seconds since 1970; None if that is not known."""

    @property
    @abstractmethod
    def collections(self) -> tuple[str, ...]:
        """The names of the collections that selected the tensor."""

    @property
    @abstractmethod
    def statistics(self) -> Statistics:
        """Its statistics. Raises NotRecorded."""

    @abstractmethod
    def value(self, step: int | None = None) -> Array:
        """The tensor's value, now or at an earlier step of `steps()`.

        Returns:
            An array of the tensor's shape and data type.

        Raises:
            NotRecorded: It was not saved. The message lists the steps with a value.
        """

    @abstractmethod
    def steps(self) -> list[int]:
        """The steps of the series up to now, ascending."""

    @abstractmethod
    def inputs(self) -> dict[str, Statistics | None]:
        """The inputs of the op by name, NODE:SLOT, with their last statistics in this step; None: not recorded."""

    @abstractmethod
    def collective(self) -> str | None:
        """The collective whose result this is, or is computed from: the op itself, or one that it reads.

        Ops that were not recorded in this step, or only copy values, are passed over. None if there is none.
        """

    def phase(self) -> tuple[int, str]:
        """Step and mode: the same for all passes of a training step, and for all of an evaluation within it."""
        return self.step, self.mode


def is_finite(statistics: Any) -> bool:
    """Whether statistics have neither NaN nor infinities."""
    return not (statistics.nan_count or statistics.pos_inf_count or statistics.neg_inf_count)
