"""The rule `overtraining`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graphdbg.rules.catalogue import described
from graphdbg.rules.finding import Finding
from graphdbg.rules.rule import Rule, Select, SeriesKey
from graphdbg.runs.errors import NotRecorded

from .overfit import NO_EVALUATION
from .rounds import Round, Rounds, loss_of

if TYPE_CHECKING:
    from graphdbg.rules.observation import Observation


@dataclass
class _Best:
    """The least loss, and how many rounds ago it was."""

    loss: float = math.inf
    rounds_since: int = 0

    def add(self, loss: float, delta: float) -> None:
        if loss <= self.loss - delta:
            self.loss, self.rounds_since = loss, 0
        else:
            self.rounds_since += 1


@dataclass
class _State:
    rounds: Rounds = field(default_factory=Rounds)
    train: _Best = field(default_factory=_Best)
    evaluation: _Best = field(default_factory=_Best)
    last_evaluation: float = math.inf


@described
class Overtraining(Rule):
    """Looks for the best mean losses of evaluations, and of the training between them."""

    id = "overtraining"
    select = Select(collections=["losses"])
    series = ("rank",)

    def start(self, key: SeriesKey) -> _State:
        return _State()

    def observe(self, state: _State, now: Observation) -> tuple[Any, Finding | None]:
        loss = loss_of(now)
        finished = None if loss is None else state.rounds.add(now, loss)
        return state, self._decided(state, finished) if finished else None

    def finish(self, state: _State) -> Finding | None:
        if not state.rounds.has_evaluation:
            raise NotRecorded(NO_EVALUATION)
        finished = state.rounds.finish()
        return self._decided(state, finished) if finished else None

    def _decided(self, state: _State, over: Round) -> Finding | None:
        rises = over.evaluation > state.last_evaluation
        state.last_evaluation = over.evaluation
        state.train.add(over.train, self.values["delta"])
        state.evaluation.add(over.evaluation, self.values["delta"])
        if state.evaluation.rounds_since >= self.values["patience_validation"]:
            return self._finding(over, "evaluation", state.evaluation)
        if rises and state.train.rounds_since >= self.values["patience_train"]:
            return self._finding(over, "training", state.train)
        return None

    def _finding(self, over: Round, which: str, best: _Best) -> Finding:
        return self.finding(
            f"the loss of {which} has not been better than {best.loss:.6g} for {best.rounds_since} rounds",
            step=over.step,
            best_loss=best.loss,
            rounds=best.rounds_since,
        )
