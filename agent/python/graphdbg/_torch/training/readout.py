"""Reads small results from devices without waiting for the device."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

Consumer = Callable[[list[float]], None]


class Readout:
    """Copies results to the host. Those of the CPU are there at once, others some time later."""

    def __init__(self) -> None:
        # Copies under way: an event of the device, the copy, and its consumer.
        self._pending: deque[tuple[Any, Any, Consumer]] = deque()

    def read(self, results: list[Any], consume: Consumer) -> None:
        """Calls `consume` with the values of these scalars, which are on one device."""
        import torch

        if not results:
            return
        values = torch.stack([result.detach().to(torch.float32).reshape(()) for result in results])
        if values.device.type == "cpu":
            consume(values.tolist())
            return
        copy = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
        copy.copy_(values, non_blocking=True)
        event = getattr(torch, values.device.type).Event()
        event.record()
        self._pending.append((event, copy, consume))

    def poll(self) -> None:
        """Delivers the results that have arrived."""
        while self._pending and self._pending[0][0].query():
            _, copy, consume = self._pending.popleft()
            consume(copy.tolist())


def by_device(tensors: list[Any]) -> list[list[Any]]:
    """Groups tensors by their device."""
    groups: dict[Any, list[Any]] = {}
    for tensor in tensors:
        groups.setdefault(tensor.device, []).append(tensor)
    return list(groups.values())
