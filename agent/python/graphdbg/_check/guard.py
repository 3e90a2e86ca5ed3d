"""Keeps faults of the observer from the program."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._log import log

_reported: set[str] = set()


def guarded(function: Callable[..., Any]) -> Callable[..., None]:
    """Wraps a hook so that it returns None and raises no Exception. A failure is reported once for each hook."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> None:
        try:
            function(*args, **kwargs)
        except Exception as error:
            name = function.__qualname__
            if name not in _reported:
                _reported.add(name)
                log(f"part of the check has failed ({name}: {error}); the program continues")

    return wrapper
