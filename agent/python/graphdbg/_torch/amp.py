"""Follows GradScaler, which multiplies losses so that float16 can represent the gradients."""

from __future__ import annotations

from functools import wraps
from typing import Any, Protocol

from .._optimizer_steps import StepCounter
from .._undo import UndoList
from . import step_record


class GradScale(Protocol):
    """The function of _hooks that sets the scale."""

    def set_grad_scale(self, scale: float, /) -> None: ...


def _scaler_class() -> Any:
    import torch

    # Before PyTorch 2.3 only CUDA had a GradScaler.
    amp = getattr(torch, "amp", None)
    return getattr(amp, "GradScaler", None) or torch.cuda.amp.GradScaler


def install(hooks: GradScale, steps: StepCounter, changes: UndoList) -> None:
    """Sets the scale between GradScaler's `scale` and `update`.

    After an overflow GradScaler skips the optimizer's step. The job counts a step
    nevertheless.
    """
    scaler_class = _scaler_class()
    scale, step, update = scaler_class.scale, scaler_class.step, scaler_class.update

    @wraps(scale)
    def scale_and_record(scaler: Any, outputs: Any) -> Any:
        scaled = scale(scaler, outputs)
        if changes.active and scaler.is_enabled():
            step_record.scalers.add(scaler)
            hooks.set_grad_scale(scaler.get_scale())
        return scaled

    @wraps(step)
    def step_and_count(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        before = steps.calls
        result = step(scaler, optimizer, *args, **kwargs)
        if changes.active and scaler.is_enabled() and steps.calls == before:
            steps(optimizer)
        return result

    @wraps(update)
    def update_and_reset(scaler: Any, *args: Any, **kwargs: Any) -> Any:
        if changes.active:
            hooks.set_grad_scale(0.0)
        return update(scaler, *args, **kwargs)

    changes.replace(scaler_class, "scale", scale_and_record)
    changes.replace(scaler_class, "step", step_and_count)
    changes.replace(scaler_class, "update", update_and_reset)
