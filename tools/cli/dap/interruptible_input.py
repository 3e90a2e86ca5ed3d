"""Standard input that signals interrupt."""

from __future__ import annotations

import io
import os
import select
import signal


class InterruptibleInput(io.RawIOBase):
    """Runs handlers of signals while it waits.

    A handler runs when the main thread next runs Python code. A plain read would go on if the signal arrives right
    before it, or reaches another thread.
    """

    def __init__(self, descriptor: int) -> None:
        """For the main thread."""
        self._descriptor = descriptor
        self._signalled, self._signal = os.pipe()
        os.set_blocking(self._signalled, False)
        os.set_blocking(self._signal, False)
        self._previous = signal.set_wakeup_fd(self._signal)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while True:
            ready, _, _ = select.select([self._descriptor, self._signalled], [], [])
            if self._descriptor in ready:
                return os.readv(self._descriptor, [buffer])
            # The handler has run, and has not raised.
            os.read(self._signalled, 4096)

    def close(self) -> None:
        if not self.closed:
            signal.set_wakeup_fd(self._previous)
            os.close(self._signalled)
            os.close(self._signal)
        super().close()
