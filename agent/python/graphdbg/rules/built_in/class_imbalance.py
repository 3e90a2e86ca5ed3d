"""The rule `class_imbalance`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from graphdbg.rules.finding import Finding
from graphdbg.rules.param import Param
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


class ClassImbalance(Rule):
    """Counts the labels of each class, and wrong predictions for it, over all samples so far."""

    id = "class_imbalance"
    title = "Some classes are much rarer than others, or are predicted wrongly"
    params: ClassVar = {
        "threshold_imbalance": Param(float, 10, min=1, help="the largest class / the smallest"),
        "threshold_misprediction": Param(float, 0.7, min=0, max=1, help="wrong predictions / samples of a class"),
        "samples": Param(int, 500, min=1, help="samples before the rule decides"),
        "argmax": Param(bool, False, help="predictions are scores along the last axis"),
    }
    select = LABELLED
    needs = VALUES
    series = ("rank", "mode")
    causes = (
        "The data have few samples of some classes, or the sampler draws few of them.",
        "The model predicts the most frequent classes only.",
        "The labels of a class do not belong to its samples.",
    )
    next = (
        "Weight the loss by class, or sample rare classes more often.",
        "Look at the samples of the class that is predicted worst, and at their labels.",
    )

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
