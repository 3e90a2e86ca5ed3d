"""Progress of what takes long, for clients that show it."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator

from .context import Context

_NUMBERS = itertools.count(1)


@contextlib.contextmanager
def progress(context: Context, title: str) -> Iterator[None]:
    """Shows a title while the block runs."""
    if not context.client.supports("supportsProgressReporting"):
        yield
        return
    number = f"graphdbg-{next(_NUMBERS)}"
    context.connection.event("progressStart", {"progressId": number, "title": title, "cancellable": False})
    try:
        yield
    finally:
        context.connection.event("progressEnd", {"progressId": number})
