"""Describes an exception: its cause, its line, and what the program was doing."""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass
from types import FrameType
from typing import Any

from .sources import source_of

_LOSS_FUNCTIONS = re.compile(r"(^|_)(loss|cross_entropy)$|_loss$|^kl_div$")
# A worker process's exception in the message of the one that its parent raises.
_WORKER = re.compile(r"Original Traceback \(most recent call last\):|terminated with the following error:")
_LAST_LINE = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit)): ?(.*)", re.MULTILINE)


@dataclass
class Failure:
    """An exception that ended the program.

    Attributes:
        type: The name of the exception's class; of a worker process's exception if there is one.
        message: Its text.
        traceback: As Python prints it.
        source: The innermost line of the program itself.
        activity: The stage whose code raised it, "" if the traceback does not show it.
    """

    type: str
    message: str
    traceback: str
    source: dict[str, Any] | None
    activity: str


def describe(exception: BaseException) -> Failure:
    try:
        text = str(exception)
    except Exception:
        text = "<no message: __str__ failed>"
    type_name, message = _cause(type(exception), text)
    trace = "".join(traceback.format_exception(exception))
    return Failure(type_name, message, trace, source_of(exception), _activity(exception))


def _cause(cls: type[BaseException], text: str) -> tuple[str, str]:
    name = cls.__qualname__ if cls.__module__ in ("builtins", "__main__") else f"{cls.__module__}.{cls.__qualname__}"
    if _WORKER.search(text):
        lines = list(_LAST_LINE.finditer(text))
        if lines:
            return lines[-1][1], text[lines[-1].start(2) :].strip()
    return name, text


def _activity(exception: BaseException) -> str:
    """The innermost stage among the frames. What happens while data is loaded is data."""
    found = ""
    trace = exception.__traceback__
    while trace is not None:
        here = _stage_of_frame(trace.tb_frame)
        if here in ("data", "environment"):
            return here
        found = here or found
        trace = trace.tb_next
    return found


def _stage_of_frame(frame: FrameType) -> str:
    file, function = frame.f_code.co_filename, frame.f_code.co_name
    if "/torch/distributed/" in file and function in ("init_process_group", "rendezvous"):
        return "environment"
    if "/torch/utils/data/" in file:
        return "data"
    if "/torch/optim/" in file:
        return "optimizer"
    if function == "backward" and ("/torch/_tensor.py" in file or "/torch/autograd/" in file):
        return "backward"
    if "/torch/nn/functional.py" in file and _LOSS_FUNCTIONS.search(function):
        return "loss"
    if function in ("_call_impl", "__init__") and "self" in frame.f_locals:
        return _stage_of_module(frame.f_locals["self"], function)
    return ""


def _stage_of_module(instance: object, function: str) -> str:
    from torch.nn import Module
    from torch.utils.data import Dataset

    if isinstance(instance, Dataset):
        return "data"
    if not isinstance(instance, Module):
        return ""
    if function == "__init__":
        return "model"
    return "loss" if is_loss(instance) else "forward"


def is_loss(module: object) -> bool:
    """Whether a module computes a loss, by the name of its class or of a base class."""
    return any(cls.__name__.endswith("Loss") for cls in type(module).__mro__)
