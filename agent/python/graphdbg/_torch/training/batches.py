"""Data loaders that deliver the same batch again and again."""

from __future__ import annotations

import functools
import sys
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

from ..._undo import UndoList
from ..._user_code import Line, is_own, line_of, user_frame
from .check import PATIENCE, Check, ModelCall, Report
from .samples import Digest, digest_of, tensors_in

# Batches that are remembered until a model is called.
_DELIVERIES = 16


class _Delivery(NamedTuple):
    dataset: int
    digest: Digest
    line: Line | None


class Batches(Check):
    """Compares the batches that are delivered before calls of models that train."""

    conditions = ("batch_repeated",)

    def __init__(self, report: Report) -> None:
        super().__init__(report)
        self._delivered: deque[_Delivery] = deque(maxlen=_DELIVERIES)
        # By dataset: its last batch, and how many successive steps have had it.
        self._last: dict[int, tuple[Digest, int]] = {}

    def deliver(self, iterator: Any, batch: Any) -> None:
        """A data loader's iterator returns a batch."""
        if _has_one_batch(iterator) or not _asks_user(sys._getframe(1)):
            return
        digest = digest_of(batch)
        if digest:
            self._delivered.append(_Delivery(id(iterator._dataset), digest, line_of(sys._getframe(1))))

    def model_called(self, call: ModelCall) -> None:
        delivered = list(self._delivered)
        self._delivered.clear()
        # Evaluations may well look at the same batch each time.
        if not call.trains or not call.module.training:
            return
        for delivery in delivered:
            last, count = self._last.get(delivery.dataset, ((), 0))
            count = count + 1 if delivery.digest == last else 1
            self._last[delivery.dataset] = delivery.digest, count
            if count >= PATIENCE:
                self._report_repeated(call, delivery)

    def _report_repeated(self, call: ModelCall, delivery: _Delivery) -> None:
        message = (
            f"the data loader has delivered the same batch {PATIENCE} times, although it has others: "
            "a new iterator starts again at the first batch"
        )
        tensors = [*tensors_in(call.arguments), *list(call.module.parameters())[:1]]
        self.report("batch_repeated", message, tensors, line=delivery.line)


def follow_loaders(deliver: Callable[[Any, Any], None], changes: UndoList) -> None:
    """Calls `deliver(iterator, batch)` with each batch of a DataLoader."""
    from torch.utils.data import dataloader

    base = dataloader._BaseDataLoaderIter
    advance = base.__next__

    @functools.wraps(advance)
    def watched_next(self: Any) -> Any:
        batch = advance(self)
        if changes.active:
            deliver(self, batch)
        return batch

    changes.replace(base, "__next__", watched_next)


def _asks_user(frame: FrameType | None) -> bool:
    """Whether the user's own loop asks for the batch, if only by iterators of libraries. A library that makes new
    iterators has been told to, as by Lightning's `overfit_batches`."""
    user = user_frame(frame)
    while frame is not None and frame is not user:
        if not is_own(frame) and frame.f_code.co_name not in ("__next__", "__iter__"):
            return False
        frame = frame.f_back
    return True


def _has_one_batch(iterator: Any) -> bool:
    try:
        return len(iterator) <= 1
    except Exception:
        # A stream.
        return False
