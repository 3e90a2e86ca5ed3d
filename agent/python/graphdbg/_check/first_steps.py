"""The stages of a step of a framework that runs all of them as one function."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from . import arrays
from .progress import Progress

# Weights are examined in this many steps.
_EXAMINED = 2


class FirstSteps:
    """Reports stages when they have run: the ones that a function was traced for, once the function has.

    A step that runs as a whole shows what failed in it by its error only.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._facts: dict[str, dict[str, Any]] = {}
        self._weights = ""
        self._changed = False

    def note(self, stage: str, **facts: Any) -> None:
        """Facts about a stage that has been traced, but has not run yet."""
        self._facts.setdefault(stage, facts)

    def built(self, facts: dict[str, Any], inputs: Iterable[Any]) -> None:
        """The model has been built, and its inputs have arrived."""
        self._progress.passed("model", **facts)
        self._progress.passed("data", inputs=arrays.describe_all(inputs))

    def ran(self, *stages: str) -> None:
        for stage in stages:
            self._progress.passed(stage, **self._facts.get(stage, {}))

    def examine_loss(self, results: Iterable[Any]) -> None:
        """Looks for a loss that is not finite among the results of a step."""
        values = [value for each in results if (value := arrays.scalar(each)) is not None]
        if self._progress.step == 0 and values:
            self.note("loss", loss={"dtype": "float32", "shape": [], "device": "cpu"}, value=repr(values[0]))
            if self._progress.fingerprints and not self._progress.has_passed("loss"):
                self._progress.fingerprint("loss", repr(values))
        broken = next((value for value in values if not math.isfinite(value)), None)
        if broken is not None:
            self._progress.found("loss", "NonFiniteLoss", f"the loss is {broken:g}")

    def wants_weights(self) -> bool:
        return self._progress.step < _EXAMINED

    def before_update(self, weights: Iterable[Any]) -> None:
        self._weights = arrays.digest(weights) if self.wants_weights() else ""

    def after_update(self, weights: Iterable[Any], **facts: Any) -> None:
        """An optimizer has run. `facts` are those of the stage."""
        if self.wants_weights():
            now = arrays.digest(weights)
            changed = not self._weights or now != self._weights
            self._changed |= changed
            self._weights = now
            if facts:
                self.note("optimizer", **facts, changed=changed)
            if self._progress.step == 0 and self._progress.fingerprints:
                self._progress.fingerprint("updated parameters", now)
        self.ran("forward", "loss", "backward", "optimizer")
        if self._progress.step == 1 and not self._changed:
            self._progress.found("optimizer", "UnchangedWeights", "two steps have changed no weight")

    def end(self) -> None:
        """Raises CheckComplete after the last step to be checked."""
        self._progress.step_end()
