"""Progress of what takes long, for clients that show it."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator

from .context import Context

# Between two updates.
_SECONDS = 1
_NUMBERS = itertools.count(1)


@contextlib.contextmanager
def progress(context: Context, title: str) -> Iterator[None]:
    """Shows a title while the block runs."""
    if not context.client.supports("supportsProgressReporting"):
        yield
        return
    number = f"graphdbg-{next(_NUMBERS)}"
    context.connection.event("progressStart", {"progressId": number, "title": title, "cancellable": False})
    ended = threading.Event()
    ticker = threading.Thread(target=_count, args=(context, number, ended), daemon=True)
    ticker.start()
    try:
        yield
    finally:
        ended.set()
        ticker.join()
        context.connection.event("progressEnd", {"progressId": number})


def _count(context: Context, number: str, ended: threading.Event) -> None:
    """Shows for how long it takes already."""
    seconds = 0
    while not ended.wait(_SECONDS):
        seconds += _SECONDS
        context.connection.event("progressUpdate", {"progressId": number, "message": f"{seconds} s"})
