"""Describes an exception: its cause, its line, and what the program was doing."""

from __future__ import annotations

import re
import sys
import traceback
from dataclasses import dataclass
from types import FrameType
from typing import Any

from .sources import source_of

_LOSS_FUNCTIONS = re.compile(r"(^|_)(loss|cross_entropy)$|_loss$|^kl_div$")
# A worker process's exception in the message of the one that its parent raises.
_WORKER = re.compile(r"Original Traceback \(most recent call last\):|terminated with the following error:")
# An error of an op in a TensorFlow function, and the frames in its text.
_GRAPH_ERROR = re.compile(r"Graph execution error:\s+Detected at node (\S+)")
_LISTED = re.compile(r'^\s*File "(.+)", line \d+, in (\S+)', re.MULTILINE)
# What functions of other frameworks do, by parts of their files' names and patterns of their own.
_ANY = re.compile("")
_LIBRARIES = (
    ("/tensorflow/python/data/", _ANY, "data"),
    ("/keras/src/trainers/data_adapters/", _ANY, "data"),
    ("/keras/src/layers/layer.py", re.compile("^__init__$"), "model"),
    ("/keras/src/layers/layer.py", re.compile("^__call__$"), "forward"),
    ("/keras/src/losses/", _ANY, "loss"),
    ("/keras/src/trainers/compile_utils.py", _ANY, "loss"),
    ("/tensorflow/python/eager/backprop.py", re.compile("^gradient$"), "backward"),
    ("/keras/src/optimizers/", re.compile("^(apply|update|build|stateless_apply)"), "optimizer"),
    ("/flax/", re.compile("^init"), "model"),
    ("/graphdbg/_check/jax.py", re.compile("^forward$"), "forward"),
    ("/graphdbg/_check/jax.py", re.compile("^differentiated$"), "backward"),
    ("/optax/losses/", _ANY, "loss"),
    ("/optax/", re.compile("^(update|apply_updates|init)"), "optimizer"),
    ("/graphdbg/_check/boosting.py", re.compile("^data_made$"), "data"),
    ("/graphdbg/_check/boosting.py", re.compile("^model_made$"), "model"),
    ("/graphdbg/_check/boosting.py", re.compile("^(objective|round_made)$"), "loss"),
    ("/lightgbm/basic.py", re.compile("^(construct|_lazy_init)$"), "data"),
)
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
    type_name, message = _cause(type(exception), _reason(text))
    trace = "".join(traceback.format_exception(exception))
    return Failure(type_name, message, trace, source_of(exception), _activity(exception))


def _reason(text: str) -> str:
    """What an op of a TensorFlow function complains about, behind the lines that have made the op."""
    node = _GRAPH_ERROR.search(text)
    frames = list(_LISTED.finditer(text))
    if node is None or not frames:
        return text
    # The last frame may have a line of code.
    behind = re.sub(r"^[^\n]*\n(?:[ \t]+[^\n]*\n)*", "", text[frames[-1].end() :]).strip()
    return f"{behind.partition(chr(10))[0]} (in {node[1]})" if behind else text


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
    return _listed_stage(str(exception)) or found


def _listed_stage(text: str) -> str:
    """The stage whose code has made the op of a TensorFlow function that fails."""
    if _GRAPH_ERROR.search(text) is None:
        return ""
    stages = [_stage_of_library(match[1], match[2]) for match in _LISTED.finditer(text)]
    return next((stage for stage in reversed(stages) if stage), "")


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
    if "torch" in sys.modules and function in ("_call_impl", "__init__") and "self" in frame.f_locals:
        return _stage_of_module(frame.f_locals["self"], function)
    return _stage_of_library(file, function)


def _stage_of_library(file: str, function: str) -> str:
    return next((stage for part, name, stage in _LIBRARIES if part in file and name.search(function)), "")


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
