"""Gives an older PyTorch what graphdbg needs of newer ones (2.0 and up have it all)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

BeforeStep = Callable[[Any, Any, Any], Any]
StepHook = Callable[[Any, Any, Any], None]
RegistrationHook = Callable[[Any, str, Any], None]


def around_each_step(before: BeforeStep, after: StepHook) -> None:
    """Has both called with `optimizer, args, kwargs` around each step of any optimizer.

    The first may return other arguments.
    """
    from torch.optim import optimizer

    try:
        optimizer.register_optimizer_step_pre_hook(before)
        optimizer.register_optimizer_step_post_hook(after)
    except AttributeError:
        _wrap_steps(optimizer.Optimizer, before, after)


def _wrap_steps(base: Any, before: BeforeStep, after: StepHook) -> None:
    # Called for each new optimizer; makes its class ready for the profiler.
    make_ready = base._hook_for_profile

    def make_ready_for_both(self: Any) -> None:
        make_ready(self)
        cls = type(self)
        if not hasattr(cls.step, "_graphdbg"):
            cls.step = _between(before, cls.step, after)

    base._hook_for_profile = make_ready_for_both


def _between(before: BeforeStep, step: Any, after: StepHook) -> Any:
    @functools.wraps(step)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = before(args[0], args, kwargs) or (args, kwargs)
        result = step(*args, **kwargs)
        after(args[0], args, kwargs)
        return result

    wrapper._graphdbg = True  # type: ignore[attr-defined]
    return wrapper


def at_each_registration(kind: str, hook: RegistrationHook) -> None:
    """Has `hook(module, name, value)` called before a module gets a parameter or a buffer."""
    from torch.nn.modules import module as registry

    register = getattr(registry, f"register_module_{kind}_registration_hook", None)
    if register is not None:
        register(hook)
        return
    original = getattr(registry.Module, f"register_{kind}")

    @functools.wraps(original)
    def wrapper(self: Any, name: str, value: Any, *args: Any, **kwargs: Any) -> None:
        hook(self, name, value)
        original(self, name, value, *args, **kwargs)

    setattr(registry.Module, f"register_{kind}", wrapper)


def make_ranges_silent() -> None:
    """Has `record_function` run no ops of its own.

    PyTorch wraps the optimizers' methods in it. Before 2.0 it makes two small
    tensors each time, which would be taken for the program's.
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
        setattr(record_function, name, method)
