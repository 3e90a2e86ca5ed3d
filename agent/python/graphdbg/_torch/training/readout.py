"""Reads small results from devices without waiting for the device."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

Consumer = Callable[[list[float]], None]


class Copy(Protocol):
    """A copy of a tensor to the host."""

    def has_arrived(self) -> bool: ...
    def values(self) -> list[float]: ...


class Readout:
    """Copies results to the host. Those on the CPU are available at once, others some time later."""

    def __init__(self, copy: Callable[[Any], Copy] | None = None, at_once: Sequence[str] = ("cpu",)) -> None:
        """`copy` begins to copy a vector, unless the type of its device is one of `at_once`."""
        self._copy = copy or _DeviceCopy
        self._at_once = at_once
        # In the order in which the copies began, which is the order in which they arrive.
        self._pending: deque[tuple[Copy, Consumer]] = deque()

    def read(self, results: Sequence[Any], consume: Consumer) -> None:
        """Calls `consume` with the elements of these tensors, which are on one device."""
        import torch

        if not results:
            return
        values = torch.cat([result.reshape(-1) for result in results])
        if values.device.type in self._at_once:
            consume(values.tolist())
        else:
            self._pending.append((self._copy(values), consume))

    def is_empty(self) -> bool:
        return not self._pending

    def poll(self) -> bool:
        """Delivers the results that have arrived. Returns whether there were any."""
        count = len(self._pending)
        while self._pending and self._pending[0][0].has_arrived():
            copy, consume = self._pending.popleft()
            consume(copy.values())
        return len(self._pending) < count


class _DeviceCopy:
    def __init__(self, values: Any) -> None:
        import torch

        self._host = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
        self._host.copy_(values, non_blocking=True)
        self._event = getattr(torch, values.device.type).Event()
        self._event.record()

    def has_arrived(self) -> bool:
        return bool(self._event.query())

    def values(self) -> list[float]:
        return list(self._host.tolist())
