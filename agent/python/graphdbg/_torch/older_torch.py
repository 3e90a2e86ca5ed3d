"""Adds the features that graphdbg needs and that PyTorch before 2.0 does not have."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from .._undo import UndoList

BeforeStep = Callable[[Any, Any, Any], Any]
StepHook = Callable[[Any, Any, Any], None]
RegistrationHook = Callable[[Any, str, Any], None]


def call_around_each_step(before: BeforeStep, after: StepHook, changes: UndoList) -> None:
    """Calls both with `optimizer, args, kwargs` around each step of every optimizer.

    `before` may return new args and kwargs.
    """
    from torch.optim import optimizer

    try:
        register_before, register_after = (
            optimizer.register_optimizer_step_pre_hook,
            optimizer.register_optimizer_step_post_hook,
        )
    except AttributeError:
        return _wrap_steps(optimizer.Optimizer, before, after, changes)
    changes.remove_handle(register_before(before))
    changes.remove_handle(register_after(after))


def _wrap_steps(base: Any, before: BeforeStep, after: StepHook, changes: UndoList) -> None:
    # PyTorch calls this method for each new optimizer to prepare its class for the
    # profiler.
    prepare = base._hook_for_profile

    def prepare_for_both(self: Any) -> None:
        prepare(self)
        cls = type(self)
        if changes.active:
            wrap(cls)

    def wrap(cls: Any) -> None:
        if not hasattr(cls.step, "_graphdbg"):
            changes.replace(cls, "step", _wrapped_step(before, cls.step, after))

    changes.replace(base, "_hook_for_profile", prepare_for_both)
    for cls in _classes_below(base):
        # Only those of which the program has made optimizers.
        if hasattr(cls.step, "hooked"):
            wrap(cls)


def _classes_below(base: Any) -> Iterator[Any]:
    for cls in base.__subclasses__():
        yield cls
        yield from _classes_below(cls)


def _wrapped_step(before: BeforeStep, step: Any, after: StepHook) -> Any:
    @functools.wraps(step)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = before(args[0], args, kwargs) or (args, kwargs)
        result = step(*args, **kwargs)
        after(args[0], args, kwargs)
        return result

    wrapper._graphdbg = True  # type: ignore[attr-defined]
    return wrapper


def before_each_registration(kind: str, hook: RegistrationHook, changes: UndoList) -> None:
    """Calls `hook(module, name, value)` before a module registers a parameter or buffer (`kind`)."""
    from torch.nn.modules import module as registry

    register = getattr(registry, f"register_module_{kind}_registration_hook", None)
    if register is not None:
        return changes.remove_handle(register(hook))
    original = getattr(registry.Module, f"register_{kind}")

    @functools.wraps(original)
    def wrapper(self: Any, name: str, value: Any, *args: Any, **kwargs: Any) -> None:
        hook(self, name, value)
        original(self, name, value, *args, **kwargs)

    changes.replace(registry.Module, f"register_{kind}", wrapper)


def silence_profiler_ranges(changes: UndoList) -> None:
    """Replaces `record_function` by a version that runs no ops.

    PyTorch wraps the methods of optimizers in `record_function`. Before 2.0 it
    creates two small tensors each time, which would appear as the program's own.
    """
    import torch
    from torch.autograd.profiler import record_function

    if int(str(torch.__version__).partition(".")[0]) >= 2:
        return
    enter, leave = torch.ops.profiler._record_function_enter_new, torch.ops.profiler._record_function_exit

    def init(self: Any, name: str, args: str | None = None) -> None:
        self.name, self.args, self.run_callbacks_on_exit, self.handle = name, args, True, None

    def enter_range(self: Any) -> Any:
        self.handle = enter(self.name, self.args)
        return self

    def exit_range(self: Any, *_: Any) -> None:
        if self.run_callbacks_on_exit:
            leave(self.handle)

    methods: dict[str, Any] = {"__init__": init, "__enter__": enter_range, "__exit__": exit_range}
    for name, method in methods.items():
        changes.replace(record_function, name, method)
