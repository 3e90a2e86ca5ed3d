"""Makes PyTorch debuggable in this process, right after `import torch`."""

from __future__ import annotations

import gc
import os
from opcode import opmap
from typing import Any

from .. import Terminated, _exit_report
from .._log import warn_not_debugged
from .._process import default_job_name
from . import (
    amp,
    backward,
    hooks,
    keras_on_torch,
    modules,
    nudged_inputs,
    older_torch,
    optimizers,
    place,
    steps,
    swap_tensors,
    torch_compile,
)
from .training.observer import TrainingObserver
from .training.replicas import Replicas
from .user_code import library_directories

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
        _exit_report.set_agent(_Agent(adapter))


# Installed with the first job of the process.
_observers: _Observers | None = None


def open_job(job_name: str) -> Any | None:
    """Opens the agent, as the environment requests, and follows PyTorch.

    Returns the adapter; None if there is nothing to debug. The caller closes the adapter and
    then calls `close_job`, after which another job may be opened.
    """
    global _observers
    import torch

    adapter = _observers.adapter if _observers is not None else hooks.load(torch)
    if not adapter.open(str(torch.__version__), job_name):
        return None
    if _observers is None:
        _observers = _Observers(adapter)
        _observers.install()
    else:
        _observers.restart()
    return adapter


def report_failure(adapter: Any, exception: BaseException, type_name: str, message: str, trace: str) -> None:
    """Reports the exception that ends the job, before the adapter is closed. May wait for the user."""
    scope, file, line = _observers.place_of(exception) if _observers is not None else (0, "", 0)
    adapter.failed(type_name, message, trace, scope, file, line)


class _Agent:
    """Reports the end of a program that is debugged as a whole."""

    def __init__(self, adapter: Any) -> None:
        self._adapter = adapter
        self.close = adapter.close
        self.close_at_exit = adapter.close_at_exit

    def failed(self, exception: BaseException, type_name: str, message: str, trace: str) -> None:
        report_failure(self._adapter, exception, type_name, message, trace)


def adopt_existing() -> None:
    """Follows the modules and optimizers that existed before the job was opened."""
    if _observers is not None:
        _observers.adopt_existing()


def close_job() -> None:
    """Gives PyTorch back what only a debugged program must do without."""
    if _observers is not None:
        _observers.eager.lift()


class _Observers:
    """Watches PyTorch from Python. It is installed once and stays, since it cannot be removed."""

    def __init__(self, adapter: Any) -> None:
        self.adapter = adapter
        self.eager = torch_compile.ForcedEager(adapter.notify)
        self._place = place.Place(_exit_report.expect_exit)
        self._loose = optimizers.LooseParameters(adapter)
        self._counter = steps.StepCounter(adapter.step_end)
        symbolic = keras_on_torch.install(adapter, self._counter)
        self._tree = modules.ModuleTree(adapter, library_directories(), lambda: symbolic.active)
        self._closures = optimizers.Closures(adapter)
        self._training = TrainingObserver(adapter)
        self._replicas = Replicas(adapter)

    def install(self) -> None:
        import torch

        older_torch.silence_profiler_ranges()
        self._follow_modules()
        if nudged_inputs.is_wanted():
            # Outside of what follows modules, so that the graph has the changed inputs.
            nudged_inputs.install(self.adapter)
        _exit_report.follow_threads(lambda ident: ident == self._place.thread or ident in self._counter.threads)
        older_torch.call_around_each_step(self._before_step, self._after_step)
        self._tree.follow_registrations(self._parameter_registered)
        optimizers.install(self._add_optimizer)
        self._replicas.follow()
        backward.install(self.adapter, self._training.before_backward)
        amp.install(self.adapter, self._counter)
        swap_tensors.install(self.adapter)
        if hasattr(torch, "compile"):
            (torch_compile.CompiledRegions(self.adapter) if torch_compile.is_kept() else self.eager).install()
        # Before the first step nothing is followed, and a forked child may train itself.
        os.register_at_fork(after_in_child=lambda: self.adapter.disable() if self._place.taken else None)

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        self._training.before_step(optimizer)
        has_closure = len(args) > 1 or kwargs
        return self._closures.before_step(optimizer, args, kwargs) if has_closure else None

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        # Findings belong to the step that ends.
        self._training.after_step(optimizer)
        self._replicas.after_step(optimizer)
        self._counter(optimizer, args, kwargs)

    def _parameter_registered(self) -> None:
        self._loose.module_has_parameter()
        self._training.parameter_registered()

    def _add_optimizer(self, optimizer: Any) -> None:
        self._training.optimizer_made(optimizer)
        self._loose.add(optimizer)

    def _add_module(self, module: Any) -> None:
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

    def restart(self) -> None:
        """Forgets the job before, so that the next one gets the names that it would have alone."""
        self._place.reset()
        self._tree.reset()
        self._loose.reset()
        self._training.reset()
        self._replicas.reset()
        self._counter.reset()
        self._follow_modules()
        if not torch_compile.is_kept():
            self.eager.resume()

    def adopt_existing(self) -> None:
        from torch.nn.parallel import DistributedDataParallel
        from torch.optim import Optimizer

        self._loose.module_has_parameter()
        # The classes of some proxies run code when they are asked for their class.
        for candidate in gc.get_objects():
            if issubclass(type(candidate), Optimizer):
                self._training.optimizer_made(candidate)
                self._loose.adopt(candidate)
            elif issubclass(type(candidate), DistributedDataParallel):
                self._replicas.adopt(candidate)

    def _follow_modules(self) -> None:
        from torch.nn import Module

        self.adapter.install(
            Module,
            self._add_module,
            self._before_model,
            Terminated,
            self.eager.lift,
            self._place.take,
            library_directories(),
        )
