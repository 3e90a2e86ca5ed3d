"""The rule `confusion`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graphdbg.rules.catalogue import described
from graphdbg.rules.finding import Finding
from graphdbg.rules.rule import Rule, SeriesKey

from .labelled import LABELLED, VALUES, Pairing, count_pairs

if TYPE_CHECKING:
    from graphdbg.rules.observation import Observation

Matrix = Counter[tuple[int, int]]


@dataclass
class _State:
    """The step or evaluation in progress, and its counts by label and prediction."""

    pairing: Pairing = field(default_factory=Pairing)
    phase: tuple[int, str] | None = None
    matrix: Matrix = field(default_factory=Counter)


@described
class Confusion(Rule):
    """Looks at confusion matrices: of each training step, and of each evaluation.

    All counts are relative to how often a class was predicted. Classes that were never predicted
    have no such share; one that has samples and no correct prediction is a finding.
    """

    id = "confusion"
    select = LABELLED
    needs = VALUES
    series = ("rank", "mode")

    def start(self, key: SeriesKey) -> _State:
        return _State()

    def observe(self, state: _State, now: Observation) -> tuple[Any, Finding | None]:
        found = None
        if state.phase != now.phase():
            found = self.finish(state)
            state.phase, state.matrix = now.phase(), Counter()
        pair = state.pairing.add(now)
        if pair is not None:
            state.matrix.update(count_pairs(*pair))
        return state, found

    def finish(self, state: _State) -> Finding | None:
        most = self.values["category_no"]
        kept = {pair: count for pair, count in state.matrix.items() if not most or max(pair) < most}
        return self._decided(state.phase[0], kept) if state.phase and kept else None

    def _decided(self, step: int, matrix: dict[tuple[int, int], int]) -> Finding | None:
        predicted: Counter[int] = Counter()
        for (_, prediction), count in matrix.items():
            predicted[prediction] += count
        for category in sorted({category for pair in matrix for category in pair}):
            found = self._column(step, matrix, category, predicted[category])
            if found is not None:
                return found
        return None

    def _column(self, step: int, matrix: dict[tuple[int, int], int], category: int, predicted: int) -> Finding | None:
        """Looks at the predictions of a class."""
        # A class that has samples and was never predicted has a share of 0.
        share = matrix.get((category, category), 0) / max(predicted, 1)
        if share < self.values["min_diag"]:
            message = f"{100 * share:.3g} % of the predictions of class {category} are correct"
            return self.finding(message, step=step, category=category, correct_share=share)
        others = ((count / predicted, label) for (label, guess), count in matrix.items() if guess == category != label)
        worst, label = max(others, default=(0.0, category))
        if worst <= self.values["max_off_diag"]:
            return None
        message = f"{100 * worst:.3g} % of the predictions of class {category} are samples of class {label}"
        return self.finding(message, step=step, category=category, label=label, wrong_share=worst)
