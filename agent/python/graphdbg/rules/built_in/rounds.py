"""Losses of training and evaluation in rounds: the training since an evaluation, and the next evaluation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphdbg.rules.observation import Observation


@dataclass
class Mean:
    """A mean in the making."""

    total: float = 0.0
    count: int = 0

    def add(self, value: float) -> None:
        self.total += value
        self.count += 1

    @property
    def value(self) -> float:
        return self.total / self.count


@dataclass(frozen=True)
class Round:
    """The mean losses of training, and of the evaluation behind it, with the step of the evaluation."""

    step: int
    train: float
    evaluation: float


@dataclass
class Rounds:
    """The round in progress. An evaluation is over when training continues."""

    train: Mean = field(default_factory=Mean)
    evaluation: Mean = field(default_factory=Mean)
    evaluated: tuple[int, str] | None = None
    has_evaluation: bool = False

    def add(self, now: Observation, loss: float) -> Round | None:
        """Adds a loss, and returns the round that is over with it, if there is one."""
        finished = self.finish() if self.evaluated not in (None, now.phase()) else None
        if now.mode == "eval":
            self.has_evaluation = True
            self.evaluated = now.phase()
            self.evaluation.add(loss)
        elif now.mode == "train":
            self.train.add(loss)
        return finished

    def finish(self) -> Round | None:
        """The round in progress if its evaluation has begun. Without training since the last one, it is none."""
        if self.evaluated is None:
            return None
        step, self.evaluated = self.evaluated[0], None
        train, evaluation, self.evaluation = self.train, self.evaluation, Mean()
        if train.count == 0:
            return None
        self.train = Mean()
        return Round(step, train.value, evaluation.value)


def loss_of(now: Observation) -> float | None:
    """The loss if it is a finite number; losses of several elements are left out."""
    statistics = now.statistics
    return statistics.mean if statistics.count == 1 else None
