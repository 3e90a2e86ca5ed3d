"""Packages that reading runs needs, imported when they are used; a missing one is an error that names the extra."""

from __future__ import annotations

import importlib
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from graphdbg.client.errors import GraphdbgError


class MissingPackageError(GraphdbgError, ImportError):
    """A package of the extra `analysis` is not installed."""

    code = "missing_package"


def load(name: str, purpose: str) -> Any:
    """Imports a module of the extra `analysis`.

    Raises:
        MissingPackageError: It is not installed, or something that it needs is not.
    """
    package = name.partition(".")[0]
    try:
        if package == "pyarrow" and package not in sys.modules:
            with _uninterrupted():
                # Makes it import pandas, which it otherwise does when it first converts something, and then loses the
                # KeyboardInterrupt of a Ctrl-C.
                importlib.import_module(package).array([0])
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingPackageError(
            f"{purpose} needs the package {package}: pip install 'graphdbg[analysis]' ({error})"
        ) from None


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delays Ctrl-C to the end of a block."""
    # Only Python's main thread handles signals; None is a handler that is no Python function.
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is None:
        yield
        return
    delayed: list[tuple[int, FrameType | None]] = []
    handler = signal.signal(signal.SIGINT, lambda number, frame: delayed.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if delayed and callable(handler):
        handler(*delayed[0])
