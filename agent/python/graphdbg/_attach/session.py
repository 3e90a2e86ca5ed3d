"""One stay in the process, from joining to leaving."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

from .._log import log
from . import found, main_thread, residue
from .answer import Answer
from .environment import AgentEnvironment
from .settings import Settings
from .waiting_calls import WaitingCalls

# How long the main thread may take to come to a point at which it can be changed.
_MOMENT_SECONDS = 30.0
# How long an answer waits for the first step.
_FIRST_STEP_SECONDS = 2.0
# A program whose optimizers do not step for so long may be evaluating: a call of a model will do.
_STEP_SECONDS = 10.0
# How long leaving waits for the end of a step.
_LEAVE_SECONDS = 2.0
_POLL_SECONDS = 0.02
# How long threads may take to end.
_THREADS_SECONDS = 2.0


class Session:
    """Joins a training, follows it from the end of a step on, and leaves without a trace.

    The work is done on a thread of its own, so that the program waits as little as possible: libraries are loaded and
    the server is waited for without the interpreter's lock. What the program's own thread has to do takes a
    millisecond: it puts in hooks, and begins to follow when an optimizer has stepped or, without optimizers, before
    the next call of a model.

    Attributes:
        is_over: Nothing of it is left in the process but what was named.
        message: Where the process is attached to, for users.
    """

    def __init__(self, settings: Settings, answer: Answer) -> None:
        self.is_over = False
        self.message = "the process is already attached"
        self._settings = settings
        self._answer = answer
        self._environment: AgentEnvironment | None = None
        self._adapter: Any = None
        self._observers: Any = None
        # Those that were made before.
        self._optimizers: list[weakref.ref[Any]] = []
        self._waiting_calls = WaitingCalls(self._begin)
        # The answer to joining has been sent.
        self._joined = threading.Event()
        # The first step has begun, or never will.
        self._settled = threading.Event()
        self._begins = self._follows = False
        self._error: BaseException | None = None
        # Of optimizers, that have been followed.
        self._steps = 0
        self._is_leaving = False
        # A step has ended since.
        self._at_boundary = threading.Event()
        self._lock = threading.Lock()
        self._threads_before: list[str] = []
        self._descriptors_before: list[str] = []

    # ---- joining

    def join(self) -> None:
        """Begins to join. Called on the main thread."""
        self._threads_before = residue.threads()
        self._descriptors_before = residue.descriptors()
        self._environment = AgentEnvironment({**_place(), **self._settings.agent_environment()})
        address = self._settings.environment.get("GRAPHDBG_HOST", "127.0.0.1")
        port = self._settings.environment.get("GRAPHDBG_PORT", "50051")
        self.message = f"already attached, to {address}:{port} since {time.strftime('%H:%M:%S')}"
        _run_apart("graphdbg-join", self._join)

    def _join(self) -> None:
        try:
            self._connect()
            main_thread.run_between_instructions(self._install, _MOMENT_SECONDS)
            self._settled.wait(_FIRST_STEP_SECONDS)
            if self._error is not None:
                raise self._error
        except BaseException as error:
            self._give_up(error)
            return
        waits = "" if self._follows else "; its ops are shown from the end of the present step on"
        self._answer.send("started", f"attached{waits}", threads=len(residue.threads()))
        self._joined.set()
        self._await_first_step()

    def _await_first_step(self) -> None:
        if self._optimizers and not self._settled.wait(_STEP_SECONDS) and not self._is_leaving:
            with contextlib.suppress(main_thread.NoMoment):
                main_thread.run_between_instructions(self._waiting_calls.install, _MOMENT_SECONDS)
        self._settled.wait()
        if self._error is not None and not self._is_leaving:
            log(f"cannot follow the program from here: {self._error!r}")
            self._leave()

    def _connect(self) -> None:
        """Loads the adapter and waits for the server, without the interpreter's lock."""
        import torch

        from .._process import default_job_name
        from .._torch import follow, hooks

        adapter = hooks.load(torch, may_build=False)
        if not adapter.open(str(torch.__version__), default_job_name(), True):
            raise RuntimeError("the agent cannot be opened: see what the program has printed")
        self._adapter = adapter
        if not adapter.connect():
            raise RuntimeError("there is no server, or it has refused the job: see what the program has printed")
        self._observers = follow.Observers(adapter)
        self._observers.on_step = self._after_step
        self._observers.on_detached = self._lost

    def _install(self) -> None:
        """Puts in what waits for the end of the step. Called on the main thread."""
        assert self._environment is not None
        self._environment.take_back()
        self._observers.prepare()
        frame = sys._getframe(1)
        self._optimizers = [weakref.ref(each) for each in found.optimizers(frame)]
        if not self._optimizers:
            self._waiting_calls.install()

    def _after_step(self, optimizer: Any) -> None:
        """An optimizer has stepped."""
        if not self._follows:
            self._begin()
            return
        self._steps += 1
        if self._is_leaving:
            self._turn_off()

    def _begin(self) -> None:
        """The first step begins. Called on the thread that trains; never raises."""
        with self._lock:
            if self._begins or self._is_leaving:
                return
            self._begins = True
        try:
            self._follow()
        except Exception as error:
            self._error = error
            self._observers.changes.active = False
        self._settled.set()

    def _follow(self) -> None:
        from .. import _exit_report
        from .._torch import follow

        self._waiting_calls.remove()
        self._observers.follow_from_here()
        self._observers.adopt([each for each in (each() for each in self._optimizers) if each is not None])
        _exit_report.install_late(follow.ReportedAgent(self._adapter), self._observers.changes)
        self._follows = True

    def _give_up(self, error: BaseException) -> None:
        """Undoes everything, and answers why."""
        try:
            self._leave()
        finally:
            self._answer.fail(error)
            self._joined.set()

    # ---- leaving

    def detach(self, answer: Answer) -> None:
        """Begins to leave, at the end of a step. A program that waits for the user goes on."""
        if self._is_leaving:
            answer.send("busy", "it is being detached")
            return
        self._is_leaving = True
        _run_apart("graphdbg-detach", lambda: self._detach(answer))

    def _lost(self) -> None:
        """The agent has given up: its server is gone. Called on the thread that trains."""
        self.detach(Answer(""))

    def _detach(self, answer: Answer) -> None:
        try:
            self._joined.wait()
            self._await_boundary()
            stays = self._leave()
        except BaseException as error:
            answer.fail(error)
            return
        answer.send("detached", self._summary(stays), threads=len(residue.threads()), stays=stays)

    def _await_boundary(self) -> None:
        deadline = time.monotonic() + _LEAVE_SECONDS
        while self._steps > 0 and time.monotonic() < deadline and not self._adapter.is_paused():
            if self._at_boundary.wait(_POLL_SECONDS):
                return

    def _turn_off(self) -> None:
        """Nothing is followed from now on."""
        self._observers.changes.active = False
        self._adapter.disable()
        self._at_boundary.set()

    def _leave(self) -> list[str]:
        """Returns the names of what stays in the process."""
        self._is_leaving = True
        self._settled.set()
        stays: list[str] = []
        if self._adapter is not None:
            # Lets a paused program go on.
            self._adapter.close(0, None, None, None)

        def undo() -> None:
            if self._environment is not None:
                self._environment.take_back()
            self._waiting_calls.remove()
            if self._observers is not None:
                stays.extend(self._observers.uninstall())

        try:
            main_thread.run_between_instructions(undo, _MOMENT_SECONDS)
        except main_thread.NoMoment:
            # It sleeps, or waits for another thread.
            undo()
        if self._adapter is not None:
            self._adapter.forget()
        self.is_over = True
        self._adapter = self._observers = None
        return stays + self._left_behind()

    def _summary(self, stays: list[str]) -> str:
        return f"detached; what stays: {', '.join(stays)}" if stays else "detached; nothing is left"

    def _left_behind(self) -> list[str]:
        """Threads and descriptors that the process did not have before."""
        deadline = time.monotonic() + _THREADS_SECONDS
        while True:
            # Without the calling one.
            now = Counter(residue.threads()) - Counter([residue.current_thread()])
            left = now - Counter(self._threads_before)
            if not left or time.monotonic() > deadline:
                break
            time.sleep(_POLL_SECONDS)
        descriptors = Counter(residue.descriptors()) - Counter(self._descriptors_before)
        return [
            *(f"thread {name}" for name in left.elements()),
            *(f"descriptor {kind}" for kind in sorted(descriptors.elements())),
        ]


def _run_apart(name: str, function: Callable[[], None]) -> None:
    threading.Thread(target=function, name=name, daemon=True).start()


def _place() -> dict[str, str]:
    """The variables that tell the agent the rank that torch.distributed knows."""
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return {}
    return {
        "GRAPHDBG_RANK": str(distributed.get_rank()),
        "GRAPHDBG_WORLD_SIZE": str(distributed.get_world_size()),
    }
