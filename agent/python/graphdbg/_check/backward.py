"""Looks at the loss when a backward pass starts from it."""

from __future__ import annotations

import functools
from typing import Any

from . import tensors
from .guard import guarded
from .progress import Progress


def install(progress: Progress) -> None:
    import torch

    # Tensor.backward looks this function up when it is called.
    run = torch.autograd.backward
    look_at_loss = guarded(_look_at_loss)

    @functools.wraps(run)
    def watched(roots: Any, *args: Any, **kwargs: Any) -> None:
        look_at_loss(progress, list(tensors.tensors_in(roots)))
        progress.begin("backward")
        run(roots, *args, **kwargs)
        progress.passed("backward")
        progress.begin("optimizer")

    torch.autograd.backward = watched


def _look_at_loss(progress: Progress, roots: list[Any]) -> None:
    if not roots:
        return
    loss = roots[0]
    if progress.step == 0 and progress.fingerprints and not progress.has_passed("loss"):
        progress.fingerprint("loss", tensors.digest(roots))
    value = float(loss.detach()) if loss.numel() == 1 and not loss.is_complex() else None
    if not all(tensors.is_finite(root) for root in roots):
        shown = "contains NaN or infinity" if value is None else f"is {value:g}"
        progress.found("loss", "NonFiniteLoss", f"the loss {shown}")
    progress.passed("loss", loss=tensors.describe(loss), value=None if value is None else repr(value))
