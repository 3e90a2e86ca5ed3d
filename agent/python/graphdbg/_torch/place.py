"""Decides when this process takes its place in the job, and which place that is."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any


def _is_data_loader_worker() -> bool:
    data = sys.modules.get("torch.utils.data")
    return data is not None and bool(data.get_worker_info())


def _is_multiprocessing_child() -> bool:
    process = sys.modules.get("multiprocessing.process")
    return process is not None and bool(process.parent_process())


def _records_gradients() -> bool:
    import torch

    return bool(torch.is_grad_enabled())


class Place:
    """The place of this process in its job, which it takes when it first trains.

    Data loader workers never take one. Workers of multiprocessing take none for
    inference alone, because they usually prepare data for a training elsewhere.
    """

    def __init__(self, on_taken: Callable[[], None]) -> None:
        self._on_taken = on_taken
        self.taken = False
        # The thread that took it.
        self.thread: int | None = None

    def take(self, trains: bool) -> tuple[int, int] | None:
        """Returns the rank and the number of ranks; None if this process is not to be debugged yet.

        Without torch.distributed the number of ranks is 0, and the variables of the
        launcher apply. `trains` is False for a call of a model, which may also be
        inference.
        """
        if _is_data_loader_worker():
            return None
        if _is_multiprocessing_child() and not trains and not _records_gradients():
            return None
        if not self.taken:
            self.taken = True
            self.thread = threading.get_ident()
            self._on_taken()
        return _distributed_rank()


def _distributed_rank() -> tuple[int, int]:
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return 0, 0
    return distributed.get_rank(), distributed.get_world_size()
