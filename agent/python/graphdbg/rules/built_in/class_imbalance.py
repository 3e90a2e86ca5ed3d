"""The rule `class_imbalance`."""

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


@dataclass
class _State:
    pairing: Pairing = field(default_factory=Pairing)
    samples: int = 0
    labels: Counter[int] = field(default_factory=Counter)
    wrong: Counter[int] = field(default_factory=Counter)


@described
class ClassImbalance(Rule):
    """Counts the labels of each class, and wrong predictions for it, over all samples so far."""

    id = "class_imbalance"
    select = LABELLED
    needs = VALUES
    series = ("rank", "mode")

    def start(self, key: SeriesKey) -> _State:
        return _State()

    def observe(self, state: _State, now: Observation) -> tuple[Any, Finding | None]:
        pair = state.pairing.add(now, self.values["argmax"])
        if pair is None:
            return state, None
        for (label, prediction), count in count_pairs(*pair).items():
            state.samples += count
            state.labels[label] += count
            state.wrong[label] += count if label != prediction else 0
        return state, self._decided(state) if state.samples >= self.values["samples"] else None

    def _decided(self, state: _State) -> Finding | None:
        (most, largest), *_, (least, smallest) = [*state.labels.most_common(), *state.labels.most_common()[-1:]]
        if largest > self.values["threshold_imbalance"] * smallest:
            message = f"class {most} has {largest} samples and class {least} has {smallest}"
            return self.finding(message, largest=largest, smallest=smallest, samples=state.samples)
        shares = {label: state.wrong[label] / count for label, count in state.labels.items()}
        worst = max(shares, key=shares.__getitem__)
        if shares[worst] <= self.values["threshold_misprediction"]:
            return None
        message = f"{100 * shares[worst]:.3g} % of the predictions for class {worst} are wrong"
        return self.finding(message, category=worst, wrong_share=shares[worst], samples=state.samples)
