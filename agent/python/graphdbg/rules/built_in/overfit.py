"""The rule `overfit`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graphdbg.rules.catalogue import described
from graphdbg.rules.finding import Finding
from graphdbg.rules.rule import Rule, Select, SeriesKey
from graphdbg.runs.errors import NotRecorded

from .rounds import Round, Rounds, loss_of

if TYPE_CHECKING:
    from graphdbg.rules.observation import Observation

NO_EVALUATION = "no losses of evaluation: none of the losses was computed in evaluation mode"


@dataclass
class _State:
    rounds: Rounds = field(default_factory=Rounds)
    in_a_row: int = 0


@described
class Overfit(Rule):
    """Compares the mean loss of each evaluation with that of the training since the evaluation before."""

    id = "overfit"
    select = Select(collections=["losses"])
    series = ("rank",)

    def start(self, key: SeriesKey) -> _State:
        return _State()

    def observe(self, state: _State, now: Observation) -> tuple[Any, Finding | None]:
        loss = loss_of(now)
        if loss is None or now.step < self.values["start_step"]:
            return state, None
        finished = state.rounds.add(now, loss)
        return state, self._decided(state, finished) if finished else None

    def finish(self, state: _State) -> Finding | None:
        if not state.rounds.has_evaluation:
            raise NotRecorded(NO_EVALUATION)
        finished = state.rounds.finish()
        return self._decided(state, finished) if finished else None

    def _decided(self, state: _State, over: Round) -> Finding | None:
        excess = over.evaluation - over.train
        if excess <= self.values["ratio_threshold"] * abs(over.train):
            state.in_a_row = 0
            return None
        state.in_a_row += 1
        if state.in_a_row < self.values["patience"]:
            return None
        return self.finding(
            f"evaluation {over.evaluation:.6g}, training {over.train:.6g}: {excess / abs(over.train):.3g} more"
            if over.train
            else f"evaluation {over.evaluation:.6g}, training 0",
            step=over.step,
            train_loss=over.train,
            evaluation_loss=over.evaluation,
        )
