"""Tells how the program ended: its exit code, or the exception it died of.

Python leaves an uncaught exception in `sys.last_value` before it calls
sys.excepthook, whoever's that is, so this needs no hook of its own.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import traceback
from typing import Protocol


class Closer(Protocol):
    """The part of _hooks that ends a session."""

    def close(self, exit_code: int, type_name: str | None, message: str | None, trace: str | None, /) -> None: ...

    def close_at_exit(self) -> None: ...


_closer: Closer | None = None
_pid = 0


def install() -> None:
    """To be called early: atexit calls the first that came last."""
    global _pid
    _pid = os.getpid()
    atexit.register(_at_exit)


def set_closer(closer: Closer) -> None:
    global _closer
    _closer = closer


def has_closer() -> bool:
    """Whether an adapter has opened the process's agent."""
    return _closer is not None


def _uncaught() -> BaseException | None:
    last = getattr(sys, "last_value", None)
    interactive = hasattr(sys, "ps1") or sys.flags.interactive
    return last if isinstance(last, BaseException) and not interactive else None


def _type_name(exception: BaseException) -> str:
    cls = type(exception)
    return cls.__qualname__ if cls.__module__ in ("builtins", "__main__") else f"{cls.__module__}.{cls.__qualname__}"


def _message(exception: BaseException) -> str:
    try:
        return str(exception)
    except Exception:
        return "<no message: __str__ failed>"


def _write(path: str, record: dict[str, str]) -> None:
    # In one step, so that whoever waits for it never sees half of it.
    part = f"{path}.{os.getpid()}"
    with open(part, "w", encoding="utf-8") as file:
        json.dump(record, file)
    os.replace(part, path)


def _at_exit() -> None:
    # A forked child inherits this; the ending is the parent's to tell.
    if os.getpid() != _pid:
        return
    exception = _uncaught()
    if exception is None:
        if _closer is not None:
            _closer.close_at_exit()
        return
    record = {
        "type": _type_name(exception),
        "message": _message(exception),
        "traceback": "".join(traceback.format_exception(exception)),
    }
    if path := os.environ.get("GRAPHDBG_EXCEPTION_FILE"):
        try:
            _write(path, record)
        except OSError as error:
            print(f"graphdbg: cannot write {path}: {error.strerror}", file=sys.stderr)
    if _closer is not None:
        # Python ends as Ctrl-C does everywhere, and calls no exit functions.
        exit_code = 130 if isinstance(exception, KeyboardInterrupt) else 1
        _closer.close(exit_code, record["type"], record["message"], record["traceback"])
