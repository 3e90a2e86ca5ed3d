"""Watches the construction of modules and the first call of the model."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from .._torch import older_torch
from .._undo import UndoList
from . import tensors
from .failures import is_loss
from .guard import guarded
from .progress import Progress


def install(progress: Progress) -> None:
    watcher = _Watcher(progress)
    older_torch.before_each_registration("parameter", guarded(watcher.parameter_registered), UndoList())
    watcher.wait_for_call()


class _Watcher:
    """Waits for the first call of a module with parameters, which is then the outermost one.

    The global hook is removed during this call, so that compilers do not trace it.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._handle: Any = None

    def parameter_registered(self, module: Any, name: str, value: Any) -> None:
        if not self._progress.has_passed("imports") and not _is_importing():
            self._progress.passed("imports")
            self._progress.begin("model")

    def wait_for_call(self) -> None:
        from torch.nn.modules.module import register_module_forward_pre_hook

        self._handle = register_module_forward_pre_hook(guarded(self._before))

    def _before(self, module: Any, inputs: Any) -> None:
        if not _is_model(module):
            return
        self._handle.remove()
        self._follow_result(module)
        progress = self._progress
        progress.parameter_names = {id(each): name for name, each in module.named_parameters()}
        progress.passed("model", **_facts(module))
        described = tensors.describe_all(inputs)
        progress.passed("data", inputs=described)
        _note_devices(progress, module, described)
        if progress.fingerprints:
            progress.fingerprint("initial parameters", tensors.digest(module.parameters()))
        progress.devices_used()
        progress.begin("forward")

    def _follow_result(self, module: Any) -> None:
        handles: list[Any] = []

        @guarded
        def after(module: Any, inputs: Any, named_inputs: Any, output: Any = None) -> None:
            for handle in handles:
                handle.remove()
            if output is None:
                # The call has raised, which the program may handle.
                self.wait_for_call()
            else:
                self._after((inputs, named_inputs), output)

        try:
            handles.append(module.register_forward_hook(after, with_kwargs=True, always_call=True))
        except TypeError:
            # PyTorch before 2.0 reports neither named inputs nor calls that raise.
            handles.append(
                module.register_forward_hook(lambda module, inputs, output: after(module, inputs, {}, output))
            )

    def _after(self, inputs: Any, output: Any) -> None:
        progress = self._progress
        if progress.fingerprints and not progress.has_passed("forward"):
            progress.fingerprint("inputs", tensors.digest(tensors.tensors_in(inputs)))
            progress.fingerprint("outputs", tensors.digest(tensors.tensors_in(output)))
        progress.passed("forward", inputs=tensors.describe_all(inputs), outputs=tensors.describe_all(output))
        progress.begin("loss")


def _is_importing() -> bool:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def _is_model(module: Any) -> bool:
    return not is_loss(module) and next(module.parameters(), None) is not None


def _facts(module: Any) -> dict[str, Any]:
    parameters = list(module.parameters())
    kinds: dict[str, int] = {}
    for parameter in parameters:
        kind = f"{str(parameter.dtype).removeprefix('torch.')} on {parameter.device}"
        kinds[kind] = kinds.get(kind, 0) + 1
    return {
        "module": type(_unwrapped(module)).__qualname__,
        "parameters": sum(parameter.numel() for parameter in parameters),
        "trainable": sum(parameter.numel() for parameter in parameters if parameter.requires_grad),
        "kinds": kinds,
    }


def _unwrapped(module: Any) -> Any:
    """The program's own module inside wrappers such as DistributedDataParallel and compiled modules."""
    while type(module).__module__.startswith("torch.") and type(module).__name__ != "Sequential":
        inner = getattr(module, "_orig_mod", None) or getattr(module, "module", None)
        if inner is None:
            break
        module = inner
    return module


def _note_devices(progress: Progress, module: Any, inputs: list[dict[str, Any]]) -> None:
    """Notes inputs on devices that no parameter is on."""
    devices = {str(parameter.device) for parameter in module.parameters()}
    other = sorted({each["device"] for each in inputs} - devices)
    if other:
        progress.note("forward", device_mismatch={"model": sorted(devices), "inputs": other})
