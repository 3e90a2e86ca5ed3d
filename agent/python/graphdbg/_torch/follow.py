"""Makes PyTorch debuggable in this process, right after `import torch`."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
from collections.abc import Callable, Iterable, Iterator
from opcode import opmap
from typing import Any

from .. import Terminated, _exit_report
from .._log import log, warn_not_debugged
from .._optimizer_steps import StepCounter
from .._process import default_job_name
from .._undo import UndoList
from .._user_code import library_directories
from . import (
    amp,
    backward,
    changes,
    hooks,
    keras_on_torch,
    modules,
    nudged_inputs,
    older_torch,
    optimizers,
    place,
    step_record,
    swap_tensors,
    torch_compile,
)
from .training.observer import TrainingObserver
from .training.replicas import Replicas

# The instruction that `raise` and `assert` are compiled to.
_RAISE = opmap["RAISE_VARARGS"]


def follow() -> None:
    """Opens the agent and installs the hooks. Never raises."""
    try:
        _follow()
    except Exception as error:
        warn_not_debugged(f"cannot follow PyTorch: {error}")


def _follow() -> None:
    adapter = open_job(default_job_name())
    if adapter is not None:
        _exit_report.set_agent(ReportedAgent(adapter))


# Of the job in progress.
_observers: Observers | None = None


def current_observers() -> Observers | None:
    """Those of the job in progress; None if there is none."""
    return _observers


def open_job(job_name: str) -> Any | None:
    """Opens the agent, as the environment requests, and follows PyTorch.

    Returns the adapter; None if there is nothing to debug. The caller closes the adapter and
    then calls `close_job`, after which another job may be opened.
    """
    import torch

    adapter = hooks.load(torch)
    if not adapter.open(str(torch.__version__), job_name):
        return None
    Observers(adapter).install()
    return adapter


def report_failure(adapter: Any, exception: BaseException, type_name: str, message: str, trace: str) -> None:
    """Reports the exception that ends the job, before the adapter is closed. May wait for the user."""
    scope, file, line = _observers.place_of(exception) if _observers is not None else (0, "", 0)
    adapter.failed(type_name, message, trace, scope, file, line)


class ReportedAgent:
    """Reports the end of a program that is debugged as a whole."""

    def __init__(self, adapter: Any) -> None:
        self._adapter = adapter
        self.close = adapter.close
        self.close_at_exit = adapter.close_at_exit

    def is_used(self) -> bool:
        return _observers is None or _observers.has_place()

    def give_up(self) -> None:
        log(
            "the program trains with another framework, so what it does with PyTorch is not debugged; "
            "set GRAPHDBG_FRAMEWORK=torch to debug that instead"
        )
        self._adapter.close(0, None, None, None)
        close_job()
        self._adapter.forget()

    def failed(self, exception: BaseException, type_name: str, message: str, trace: str) -> None:
        report_failure(self._adapter, exception, type_name, message, trace)


@contextlib.contextmanager
def ignored_ops() -> Iterator[None]:
    """The ops of this thread are not part of the program."""
    adapter = _observers.adapter if _observers is not None else None
    depth = adapter.enter_ignored() if adapter is not None else 0
    try:
        yield
    finally:
        if adapter is not None:
            adapter.leave_ignored(depth)


def adopt_existing() -> None:
    """Follows the modules and optimizers that existed before the job was opened."""
    if _observers is not None:
        _observers.adopt(gc.get_objects())


def close_job() -> list[str]:
    """Gives PyTorch back as it was. Returns the names of what stays, because the program has replaced it since."""
    return _observers.uninstall() if _observers is not None else []


def _after_fork() -> None:
    # Before the first step nothing is followed, and a forked child may train itself.
    if _observers is not None and _observers.has_place():
        _observers.adapter.disable()


# Python cannot take such a function out again.
@functools.cache
def _follow_forks() -> None:
    os.register_at_fork(after_in_child=_after_fork)


class Observers:
    """Watches PyTorch from Python for one job.

    Attributes:
        changes: What has been changed in the process. Not active once the job has ended.
    """

    def __init__(self, adapter: Any) -> None:
        self.adapter = adapter
        self.changes = UndoList()
        # Called when the agent has given up the job.
        self.on_detached: Callable[[], None] = lambda: None
        # Called after each step of an optimizer.
        self.on_step: Callable[[Any], None] | None = None
        self._follows = False
        self._eager = torch_compile.ForcedEager(adapter.notify, self.changes)
        self._keeps_compiled = torch_compile.is_kept()
        self._place = place.Place(lambda: _exit_report.expect_exit(self.changes))
        self._loose = optimizers.LooseParameters(adapter)
        self._counter = StepCounter(adapter.step_end, adapter.passed_steps)
        symbolic = keras_on_torch.SymbolicCalls(self.changes)
        self._symbolic = symbolic
        self._tree = modules.ModuleTree(adapter, library_directories(), lambda: symbolic.active)
        self._closures = optimizers.Closures(adapter)
        self._training = TrainingObserver(adapter, self.changes, end_step=adapter.step_end)
        self._replicas = Replicas(adapter)

    def install(self) -> None:
        self.prepare()
        self.follow()

    def prepare(self) -> None:
        """Watches the steps of optimizers, and calls `on_step`."""
        global _observers
        _observers = self
        before, after = self.adapter.around_steps(self._before_step, self._after_step)
        older_torch.call_around_each_step(before, after, self.changes)
        changes.on_order = lambda: self.adapter.pass_steps_of(None)
        _follow_forks()

    def follow(self) -> None:
        """Follows everything else. Called between two steps."""
        import torch

        older_torch.silence_profiler_ranges(self.changes)
        self._follow_modules()
        if nudged_inputs.is_wanted():
            # Outside of what follows modules, so that the graph has the changed inputs.
            nudged_inputs.install(self.adapter, self.changes)
        _exit_report.follow_threads(
            lambda ident: ident == self._place.thread or ident in self._counter.threads, self.changes
        )
        keras_on_torch.install(self.adapter, self._counter, self._symbolic, self.changes)
        self._tree.follow_registrations(self._parameter_registered, self.changes)
        optimizers.install(self._add_optimizer, self.changes)
        self._replicas.follow(self.changes)
        backward.install(self.adapter, self._training.before_backward, self.changes)
        amp.install(self.adapter, self._counter, self.changes)
        swap_tensors.install(self.adapter, self.changes)
        if hasattr(torch, "compile"):
            regions = torch_compile.CompiledRegions(self.adapter, self.changes)
            (regions if self._keeps_compiled else self._eager).install()
        self._follows = True

    def follow_from_here(self) -> None:
        """Follows a program that trains already. Called on the thread that trains, between two steps."""
        self.follow()
        self._place.take(trains=True)
        self.adapter.follow()

    def uninstall(self) -> list[str]:
        """Undoes all of it. Returns the names of what stays."""
        global _observers
        if _observers is self:
            _observers = None
        changes.forget()
        self.adapter.pass_steps_of(None)
        return self.changes.run()

    def has_place(self) -> bool:
        """Whether this process takes part in the job."""
        return self._place.taken

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        if not self.changes.active or not self._follows:
            return None
        # Most jobs need none of these, and short steps feel each call.
        if self._training.watched or self.adapter.watches(None):
            self._training.before_step(optimizer)
        if not self._replicas.is_idle:
            self._replicas.before_step(optimizer)
        if changes.to_skip:
            changes.before_step(optimizer)
        has_closure = len(args) > 1 or kwargs
        return self._closures.before_step(optimizer, args, kwargs) if has_closure else None

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not self.changes.active:
            return
        if changes.taken:
            changes.after_step(optimizer)
        if self._follows:
            # Findings belong to the step that ends.
            if self._training.watched:
                self._training.after_step(optimizer)
            if not self._replicas.is_idle:
                self._replicas.after_step(optimizer)
            self._counter(optimizer, args, kwargs)
        if self.on_step is not None:
            self.on_step(optimizer)
        until = self._training.quiet_until if self._training.watched else 0
        passes = self._only_counts(optimizer) and (until > 0 or not self._training.watched)
        self.adapter.pass_steps_of(optimizer if passes else None, until)

    def _only_counts(self, optimizer: Any) -> bool:
        """Whether there will be nothing to do around the steps of this optimizer but to end steps of the job, apart
        from conditions of training."""
        has_more_to_do = not self._replicas.is_idle or changes.to_skip or changes.taken or self.on_step is not None
        return self._follows and not has_more_to_do and self._counter.leads_alone(optimizer)

    def _parameter_registered(self) -> None:
        self._loose.module_has_parameter()
        self._training.parameter_registered()

    def _add_optimizer(self, optimizer: Any) -> None:
        step_record.optimizers.setdefault(optimizer)
        self._training.optimizer_made(optimizer)
        self._loose.add(optimizer)

    def _add_module(self, module: Any) -> None:
        from torch.nn.parallel import DistributedDataParallel

        # It may have been made before the job was opened.
        if issubclass(type(module), DistributedDataParallel):
            self._replicas.adopt(module)
        self._tree.add(module)
        self._training.module_found(module)

    def _before_model(self, module: Any, /, *args: Any, **kwargs: Any) -> None:
        self._tree.give_inputs(module, *args, **kwargs)
        self._training.model_called(module, args, kwargs)

    def place_of(self, exception: BaseException) -> tuple[int, str, int]:
        """The scope of the innermost module that was being called, and the line that called what failed.

        The file is empty if Python code raised the exception itself.
        """
        scope, file, line = 0, "", 0
        trace = exception.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            raises = code.co_code[trace.tb_lasti] == _RAISE
            file, line = "" if raises else code.co_filename, trace.tb_lineno
            scope = self._tree.scope_of(trace.tb_frame.f_locals.get("self")) or scope
            trace = trace.tb_next
        return scope, file, line

    def adopt(self, candidates: Iterable[object]) -> None:
        """Follows the optimizers and data parallel models among objects that were made before."""
        from torch.nn.parallel import DistributedDataParallel
        from torch.optim import Optimizer

        self._loose.module_has_parameter()
        # The classes of some proxies run code when they are asked for their class.
        for candidate in candidates:
            if issubclass(type(candidate), Optimizer):
                step_record.optimizers.setdefault(candidate)
                self._training.optimizer_made(candidate)
                self._loose.adopt(candidate)
            elif issubclass(type(candidate), DistributedDataParallel):
                self._replicas.adopt(candidate)

    def _detached(self) -> None:
        self._eager.lift()
        self.on_detached()

    def _follow_modules(self) -> None:
        from torch.nn import Module

        self.adapter.install(
            Module,
            self._add_module,
            self._before_model,
            Terminated,
            self._detached,
            self._place.take,
            library_directories(),
        )
        self.changes.enter(lambda: None if self.adapter.uninstall(Module) else "torch.nn.Module.__call__")
