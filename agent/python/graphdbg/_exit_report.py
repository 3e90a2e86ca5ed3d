"""Reports how the program ended: its exit code, or the exception that ended it.

Python stores an uncaught exception in `sys.last_value` before it calls
sys.excepthook, even if the program has replaced that hook, so this module does not
need a hook of its own.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from ._log import log
from ._undo import UndoList


class Agent(Protocol):
    """The functions that report the process's end."""

    def failed(self, exception: BaseException, type_name: str, message: str, trace: str, /) -> None: ...

    def close(self, exit_code: int, type_name: str | None, message: str | None, trace: str | None, /) -> None: ...

    def close_at_exit(self) -> None: ...


@runtime_checkable
class Replaceable(Agent, Protocol):
    """An agent that was opened when its framework was imported, which the program may not use for training."""

    def is_used(self) -> bool:
        """Whether the program has trained or run a model with the framework."""

    def give_up(self) -> None:
        """Closes the agent, which is not used, for that of another framework."""


_agent: Agent | None = None
_pid = 0


def install() -> None:
    """Registers the report. Call it early: atexit runs functions in reverse order of registration."""
    global _pid
    _pid = os.getpid()
    atexit.register(_at_exit)


def install_late(agent: Agent, changes: UndoList) -> None:
    """Registers the report in a program that runs already."""
    install()
    changes.enter(lambda: atexit.unregister(_at_exit))
    set_agent(agent)
    changes.enter(lambda: set_agent(None))


def expect_exit(changes: UndoList) -> None:
    """Has this process report its exit. Called when it takes its place in the job.

    Processes of multiprocessing do not all run exit functions, and some inherited
    their parent's.
    """
    global _pid
    _pid = os.getpid()
    process = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        from multiprocessing.util import Finalize

        # The lowest priority runs last.
        report = Finalize(None, _at_child_exit, exitpriority=-sys.maxsize)
        changes.enter(report.cancel)


def set_agent(agent: Agent | None) -> None:
    global _agent
    _agent = agent


def follow_threads(trains: Callable[[int], bool], changes: UndoList) -> None:
    """Reports exceptions that end a thread which trains, after Python has printed them.

    `trains(ident)` returns whether the thread did. Exceptions of the main thread are
    reported at exit.
    """
    report = threading.excepthook

    def hook(failure: threading.ExceptHookArgs) -> None:
        report(failure)
        exception = failure.exc_value
        if not changes.active or _agent is None or not isinstance(exception, Exception):
            return
        if trains(threading.get_ident()):
            _agent.failed(exception, type_name(exception), message(exception), _trace(exception))

    changes.replace(threading, "excepthook", hook)


def has_agent() -> bool:
    """Whether an adapter has opened the process's agent."""
    return _agent is not None


def may_become_free() -> bool:
    """Whether another adapter may open the process's agent, if its framework is the first to train."""
    return _agent is None or (isinstance(_agent, Replaceable) and not _agent.is_used())


def make_free() -> bool:
    """Called by an adapter whose framework trains. Whether it may open the process's agent."""
    if not may_become_free():
        return False
    if isinstance(_agent, Replaceable):
        _agent.give_up()
        set_agent(None)
    return True


def _uncaught_exception() -> BaseException | None:
    last = getattr(sys, "last_value", None)
    interactive = hasattr(sys, "ps1") or sys.flags.interactive
    return last if isinstance(last, BaseException) and not interactive else None


def type_name(exception: BaseException) -> str:
    """The name of an exception's class, as a traceback shows it."""
    cls = type(exception)
    return cls.__qualname__ if cls.__module__ in ("builtins", "__main__") else f"{cls.__module__}.{cls.__qualname__}"


def message(exception: BaseException) -> str:
    """The message of an exception."""
    try:
        return str(exception)
    except Exception:
        return "<no message: __str__ failed>"


def _trace(exception: BaseException) -> str:
    return "".join(traceback.format_exception(exception))


def _write(path: str, record: dict[str, str]) -> None:
    # Atomic, so that a reader that waits for the file never sees half of it.
    part = f"{path}.{os.getpid()}"
    with open(part, "w", encoding="utf-8") as file:
        json.dump(record, file)
    os.replace(part, path)


def _at_child_exit() -> None:
    """Reports the end of a process of multiprocessing, whose exception is still being handled."""
    exception = sys.exc_info()[1]
    if isinstance(exception, SystemExit):
        code = exception.code if isinstance(exception.code, int) else int(exception.code is not None)
        # torch.multiprocessing exits while it handles the exception of a worker.
        if code and isinstance(exception.__context__, Exception):
            _report(exception.__context__)
        else:
            _close(code)
    elif exception is not None:
        _report(exception)
    else:
        _close(0)


def _close(exit_code: int) -> None:
    if _agent is not None:
        _agent.close(exit_code, None, None, None)


def _at_exit() -> None:
    # A forked child inherits this function, but only the parent reports its exit.
    if os.getpid() != _pid:
        return
    if _agent is not None:
        from . import _packing

        _packing.start()
    exception = _uncaught_exception()
    if exception is None:
        if _agent is not None:
            _agent.close_at_exit()
        return
    _report(exception)


def _report(exception: BaseException) -> None:
    record = {
        "type": type_name(exception),
        "message": message(exception),
        "traceback": _trace(exception),
    }
    if path := os.environ.get("GRAPHDBG_EXCEPTION_FILE"):
        try:
            _write(path, record)
        except OSError as error:
            log(f"cannot write {path}: {error.strerror}")
    if _agent is not None:
        if isinstance(exception, Exception):
            _agent.failed(exception, record["type"], record["message"], record["traceback"])
        # After an uncaught KeyboardInterrupt Python kills itself with SIGINT
        # without calling exit functions of the C library, so the code is set here.
        exit_code = 130 if isinstance(exception, KeyboardInterrupt) else 1
        _agent.close(exit_code, record["type"], record["message"], record["traceback"])
