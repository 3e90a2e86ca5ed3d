"""Marks sessions of ONNX Runtime that graphdbg itself makes, which are not followed."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

_thread = threading.local()


@contextlib.contextmanager
def internal_sessions() -> Iterator[None]:
    """Sessions that this thread makes or runs inside the context are not followed."""
    before = is_internal()
    _thread.internal = True
    try:
        yield
    finally:
        _thread.internal = before


def is_internal() -> bool:
    return bool(getattr(_thread, "internal", False))
