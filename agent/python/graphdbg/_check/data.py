"""Times the first batch of the program's data loader."""

from __future__ import annotations

import functools
import sys
import time
from typing import Any

from . import tensors
from .guard import guarded
from .progress import Progress
from .sources import location, user_frame


def install(progress: Progress) -> None:
    from torch.utils.data import dataloader

    loader = dataloader.DataLoader
    make = loader.__iter__
    watch_first = guarded(_watch_first)

    @functools.wraps(make)
    def watched_iter(self: Any) -> Any:
        if progress.has_passed("data"):
            return make(self)
        progress.passed("imports")
        progress.begin("data")
        began = time.monotonic()
        iterator = make(self)
        watch_first(progress, self, iterator, began)
        return iterator

    loader.__iter__ = watched_iter
    _watch_iterators(dataloader)


def _watch_first(progress: Progress, loader: Any, iterator: Any, began: float) -> None:
    frame = user_frame(sys._getframe(1))
    place = location(frame) if frame else None

    @guarded
    def arrived(batch: Any) -> None:
        progress.passed(
            "data",
            first_batch_seconds=round(time.monotonic() - began, 6),
            batch=tensors.describe_all(batch),
            workers=loader.num_workers,
        )

    @guarded
    def ended() -> None:
        progress.note("data", empty={"samples": _length(loader.dataset), "batch_size": loader.batch_size}, source=place)

    # Attributes of the iterator, so that its class needs no state of ours.
    iterator._graphdbg_first = (arrived, ended)


def _watch_iterators(dataloader: Any) -> None:
    base = dataloader._BaseDataLoaderIter
    advance = base.__next__

    @functools.wraps(advance)
    def watched_next(self: Any) -> Any:
        callbacks = self.__dict__.pop("_graphdbg_first", None)
        if callbacks is None:
            return advance(self)
        arrived, ended = callbacks
        try:
            batch = advance(self)
        except StopIteration:
            ended()
            raise
        arrived(batch)
        return batch

    base.__next__ = watched_next


def _length(dataset: Any) -> int | None:
    try:
        return len(dataset)
    except Exception:
        return None
