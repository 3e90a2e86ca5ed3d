"""The rule `check_input_images`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy
from graphdbg.rules.catalogue import described
from graphdbg.rules.finding import Finding
from graphdbg.rules.rule import Needs, Rule, Select, SeriesKey

if TYPE_CHECKING:
    from graphdbg.rules.observation import Observation

    Array = numpy.ndarray[Any, Any]

_IMAGE_DIMENSIONS = 4


@dataclass
class _State:
    """The images so far: their number, and for each channel the mean, float64 of shape (channels,)."""

    images: int = 0
    means: Array | None = None


@described
class CheckInputImages(Rule):
    """Looks at the mean of each color channel over all images so far.

    Inputs without four dimensions, and batches with NaN or infinities, are left out.
    """

    id = "check_input_images"
    select = Select(collections=["inputs"])
    needs = Needs(tensors=True)

    def start(self, key: SeriesKey) -> _State:
        return _State()

    def observe(self, state: _State, now: Observation) -> tuple[Any, Finding | None]:
        images = now.value()
        if images.ndim != _IMAGE_DIMENSIONS or images.size == 0:
            return state, None
        channel = self.values["channel"]
        axes = tuple(axis for axis in range(_IMAGE_DIMENSIONS) if axis != channel)
        means = images.mean(axis=axes, dtype="f8")
        if not numpy.isfinite(means).all():
            return state, None
        before = numpy.zeros_like(means) if state.means is None or state.means.shape != means.shape else state.means
        total = state.images + len(images)
        state.means = before + (means - before) * (len(images) / total)
        state.images = total
        return state, self._decided(state)

    def _decided(self, state: _State) -> Finding | None:
        if state.means is None or state.images < self.values["threshold_samples"]:
            return None
        worst = int(numpy.abs(state.means).argmax())
        mean = float(state.means[worst])
        if not abs(mean) > self.values["threshold_mean"]:
            return None
        message = f"the mean of channel {worst} over {state.images} images is {mean:.4g}"
        return self.finding(message, channel=worst, mean=mean, images=state.images)
