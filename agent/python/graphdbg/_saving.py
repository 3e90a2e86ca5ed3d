"""Functions by which a program reports values to record and its phase. No effect unless it is debugged."""

from __future__ import annotations

import ctypes
import os
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from . import Terminated, _c_api
from ._log import log

_MODES = {None: _c_api.MODE_UNKNOWN, "train": _c_api.TRAIN, "eval": _c_api.EVAL, "predict": _c_api.PREDICT}
_DEVICES = {"cpu": 0, "cuda": 1, "npu": 2}
_MAX_DIMENSIONS = 64

_library: Any = None
_mode: str | None = None


def save_scalar(name: str, value: float) -> None:
    """Records a number, such as an accuracy, in the collection "metrics" of the current step.

    It is an output of a node of this name: watchpoints check it, and `open_run(...).tensor(name)` has its history.
    Without graphdbg, or before the first step, nothing happens.

    Args:
        name: A name that no op or tensor of the program has, at most 4,096 bytes.
        value: A number, or a tensor or array with one element, on any device.

    Raises:
        TypeError: The value is not a number.
        ValueError: An op or tensor of the program has this name.
        Terminated: The user ended the program while it was paused here.
    """
    number = ctypes.c_double(_number_of(value))
    shape = (ctypes.c_int64 * 1)()
    tensor = _c_api.sized(
        _c_api.Tensor, dtype=_c_api.DTYPES["float64"], data=ctypes.addressof(number), ndim=0, shape=shape
    )
    _save(name, "metrics", tensor)


def save_tensor(name: str, value: Any, collection: str = "default") -> None:
    """Records the values of a tensor at the current step.

    It is an output of a node of this name: watchpoints check it, and `open_run(...).tensor(name)` has its values and
    statistics. Without graphdbg, or before the first step, nothing happens.

    Args:
        name: A name that no op or tensor of the program has, at most 4,096 bytes.
        value: A torch.Tensor on any device, or whatever `numpy.asarray` takes.
        collection: The collection to which it belongs. If the configuration has this collection, its level and its
            steps apply; otherwise statistics and values are recorded whenever this is called.

    Raises:
        TypeError: The value is not a tensor with elements in memory.
        ValueError: An op or tensor of the program has this name.
        Terminated: The user ended the program while it was paused here.
    """
    if _agent() is None:
        return
    kept, tensor = _tensor_of(value)
    _save(name, collection, tensor)
    del kept


def mode(name: str | None) -> AbstractContextManager[None]:
    """Sets the purpose of the following computations: "train", "eval" or "predict"; None: as the models' modes imply.

    Recordings keep evaluation apart from training. By default, calls of models in training mode with gradients are
    training, and others are evaluation. As a context manager, the former mode returns at its end:

        with graphdbg.mode("eval"):
            validate(model)

    If the program has an optimizer, evaluation and prediction are a pass within the training step in progress.

    Raises:
        ValueError: There is no such mode.
    """
    if name not in _MODES:
        raise ValueError(f"no mode {name!r}; there are 'train', 'eval' and 'predict', and None")
    before = _mode
    _set_mode(name)
    return _Mode(before)


class _Mode(AbstractContextManager[None]):
    """Returns to a mode."""

    def __init__(self, before: str | None) -> None:
        self._before = before

    def __exit__(
        self, exception_type: type[BaseException] | None, exception: BaseException | None, trace: TracebackType | None
    ) -> None:
        _set_mode(self._before)


def _set_mode(name: str | None) -> None:
    global _mode
    _mode = name
    agent = _agent()
    if agent is not None:
        _library.graphdbg_set_mode(agent, _MODES[name])


def _agent() -> Any:
    """The handle of the process's agent; None if there is none."""
    global _library
    if _library is None:
        try:
            # Whoever debugs the program has loaded it.
            ctypes.CDLL(str(_c_api.LIBRARY), mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        except OSError:
            return None
        _library = _c_api.load()
    return _library.graphdbg_current()


def _save(name: str, collection: str, tensor: Any) -> None:
    agent = _agent()
    if agent is None:
        return
    status = _library.graphdbg_save_tensor(agent, name.encode(), collection.encode(), ctypes.byref(tensor))
    if status == _c_api.TERMINATE:
        raise Terminated
    if status == _c_api.INVALID_ARGUMENT:
        raise ValueError(_library.graphdbg_last_error().decode())
    if status == _c_api.RESOURCE_EXHAUSTED:
        log(_library.graphdbg_last_error().decode())


def _number_of(value: Any) -> float:
    item = getattr(value, "item", None)
    try:
        return float(item() if item is not None else value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"{type(value).__name__} is not a number: {error}") from None


def _tensor_of(value: Any) -> tuple[Any, Any]:
    """The tensor as the agent reads it, and what must live as long."""
    if type(value).__module__.partition(".")[0] == "torch" or hasattr(value, "data_ptr"):
        return _of_torch(value)
    import numpy

    array = numpy.asarray(value)
    if array.dtype.name not in _c_api.DTYPES or array.ndim > _MAX_DIMENSIONS:
        raise TypeError(f"values of type {array.dtype} with {array.ndim} dimensions cannot be saved")
    strides = [stride // max(array.itemsize, 1) for stride in array.strides]
    return array, _structure(array.ctypes.data, array.dtype.name, array.shape, strides)


def _of_torch(value: Any) -> tuple[Any, Any]:
    import torch

    tensor = value.detach()
    if tensor.layout is not torch.strided or tensor.device.type not in _DEVICES:
        raise TypeError(f"a tensor of layout {tensor.layout} on {tensor.device} has no elements that can be saved")
    tensor = tensor.resolve_conj().resolve_neg()
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in _c_api.DTYPES:
        raise TypeError(f"values of type {dtype} cannot be saved")
    structure = _structure(tensor.data_ptr(), dtype, tensor.shape, tensor.stride())
    structure.device = _DEVICES[tensor.device.type]
    structure.device_id = tensor.device.index or 0
    return tensor, structure


def _structure(address: int, dtype: str, shape: Any, strides: Any) -> Any:
    sizes = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    steps = (ctypes.c_int64 * max(len(shape), 1))(*strides)
    return _c_api.sized(
        _c_api.Tensor, dtype=_c_api.DTYPES[dtype], data=address, ndim=len(shape), shape=sizes, strides=steps
    )
