"""Pairs of labels and predictions, from the collections of these names."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy
from graphdbg.rules.rule import Needs, Select

if TYPE_CHECKING:
    from graphdbg.rules.observation import Observation

    Array = numpy.ndarray[Any, Any]

LABELS, PREDICTIONS = "labels", "predictions"
LABELLED = Select(collections=[LABELS, PREDICTIONS])
VALUES = Needs(tensors=True)

# Classes are below 2**31, so that two of them fit into one number.
_MOST_CLASSES = 1 << 31


@dataclass
class Pairing:
    """The labels or predictions whose counterpart has not been observed yet. Both are of the same pass."""

    labels: Array | None = None
    predictions: Array | None = None
    of_pass: tuple[int, str, int] | None = None

    def add(self, now: Observation, argmax: bool = False) -> tuple[Array, Array] | None:
        """Adds an observation, and returns the pair that it completes.

        Args:
            now: The observation.
            argmax: Whether predictions are scores of classes along the last axis. Predictions with one dimension more
                than the labels always are scores, along the last axis or that behind the batch.

        Returns:
            Labels and predicted classes, whole numbers of shape (n,), without labels below 0.
        """
        now_of_pass = (*now.phase(), now.pass_)
        if self.of_pass != now_of_pass:
            # Were it not for this, labels that were dropped would shift all later pairs.
            self.labels, self.predictions, self.of_pass = None, None, now_of_pass
        if LABELS in now.collections:
            self.labels = now.value()
        elif PREDICTIONS in now.collections:
            self.predictions = now.value()
        if self.labels is None or self.predictions is None:
            return None
        labels, predictions = self.labels, _classes(self.predictions, self.labels.shape, argmax)
        self.labels = self.predictions = None
        if labels.size != predictions.size:
            return None
        wanted = (labels >= 0).ravel()
        return labels.ravel()[wanted].astype("i8"), predictions.ravel()[wanted].astype("i8")


def count_pairs(labels: Array, predictions: Array) -> Counter[tuple[int, int]]:
    """How often each pair of a label and a predicted class occurs."""
    codes, counts = numpy.unique(labels * _MOST_CLASSES + predictions, return_counts=True)
    pairs = (divmod(code, _MOST_CLASSES) for code in codes.tolist())
    return Counter(dict(zip(pairs, counts.tolist(), strict=True)))


def _classes(predictions: Array, shape: tuple[int, ...], argmax: bool) -> Array:
    scores = predictions.shape
    if argmax or scores[:-1] == shape:
        return numpy.asarray(predictions.argmax(axis=-1))
    if scores[:1] + scores[2:] == shape:
        return numpy.asarray(predictions.argmax(axis=1))
    return predictions
