"""Moments at which the process must not be changed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

# PyTorch's code that goes through tables of hooks, by the end of its file's name, and what it does.
_WALKS = {
    "torch/optim/optimizer.py": "an optimizer's step is under way",
    "torch/_dynamo/convert_frame.py": "code is being compiled",
}
_REGISTRATIONS = ("register_parameter", "register_buffer", "register_module", "add_module", "__setattr__")


def why_not_now(frame: FrameType | None) -> str:
    """Why nothing can be imported at this point of the main thread; "" if it can. `frame` is the program's."""
    if any(each.f_code.co_filename.startswith("<frozen importlib") for each in _outwards(frame)):
        return "the program is importing a module"
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "torch" and _is_half_made(module):
            return f"{name} is being imported"
    return ""


def why_not_change(frame: FrameType | None) -> str:
    """Why no hook can be put in or taken out at this point of the main thread; "" if it can."""
    for each in _outwards(frame):
        file = each.f_code.co_filename
        if is_own(each):
            return "a call of graphdbg is under way"
        for ending, reason in _WALKS.items():
            if file.endswith(ending):
                return reason
        if file.endswith("torch/nn/modules/module.py") and each.f_code.co_name in _REGISTRATIONS:
            return "a module registers something"
    return why_not_now(frame)


def is_outside(frame: FrameType | None) -> bool:
    """Whether no module is being called, nothing differentiated and no optimizer stepping, from `frame` outwards."""
    calls = _module_calls()
    engines = ("torch/autograd/graph.py", "torch/autograd/__init__.py", "torch/optim/optimizer.py")
    return not any(each.f_code in calls or each.f_code.co_filename.endswith(engines) for each in _outwards(frame))


def is_own(frame: FrameType) -> bool:
    """Whether graphdbg's code runs in the frame."""
    return frame.f_code.co_filename.startswith(_PACKAGE)


def _module_calls() -> set[CodeType]:
    from torch.nn import Module

    functions: list[Callable[..., object] | None] = [
        getattr(Module, name, None) for name in ("_call_impl", "_wrapped_call_impl")
    ]
    return {code for code in (getattr(function, "__code__", None) for function in functions) if code is not None}


def _is_half_made(module: object) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back
