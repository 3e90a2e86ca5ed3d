"""Changes of the training that the user orders while it is paused. Called by _hooks, on the agent's thread."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

from . import step_record

# By id, the optimizers of which the next step does nothing. before_step and after_step have something to do if this or
# the next one is not empty.
to_skip: dict[int, weakref.ref[Any]] = {}
# By the id of an optimizer, the gradients that were taken from it for the step in progress.
taken: dict[int, list[tuple[Any, Any]]] = {}
# Called when there is something to do that was not there before.
on_order: Callable[[], None] | None = None


class CannotChange(Exception):
    """There is nothing to change."""


def set_learning_rate(value: float, optimizer: int, group: int) -> str:
    """Sets the learning rate of an optimizer's group of parameters; -1 stands for all. Returns what was done.

    Raises:
        CannotChange: There is no such group.
    """
    if not value >= 0 or value == float("inf"):
        raise CannotChange("a learning rate is a finite number from 0 on")
    groups = list(_groups(optimizer, group))
    if not groups:
        raise CannotChange(f"there is no such optimizer or group: {_existing()}")
    before = sorted({float(each["lr"]) for each in groups})
    for each in groups:
        _set_rate(each, value)
    return f"learning rate {', '.join(f'{rate:g}' for rate in before)} -> {value:g}"


def skip_step() -> str:
    """Has the next step of each optimizer do nothing. Returns what was done.

    Raises:
        CannotChange: The program has no optimizers.
    """
    optimizers = list(step_record.optimizers)
    if not optimizers:
        raise CannotChange("the program has made no optimizer of torch.optim")
    to_skip.update({id(each): weakref.ref(each) for each in optimizers})
    if on_order is not None:
        on_order()
    return "the next step is skipped: its gradients are not applied"


def before_step(optimizer: Any) -> None:
    """An optimizer steps. Takes its gradients away if the step is to be skipped."""
    skipped = to_skip.pop(id(optimizer), None)
    # Another optimizer may have got the id since.
    if skipped is None or id(skipped()) != id(optimizer):
        return
    parameters = [each for group in optimizer.param_groups for each in group["params"]]
    gradients = [(each, each.grad) for each in parameters if each.grad is not None]
    taken[id(optimizer)] = gradients
    # Optimizers pass over parameters without a gradient.
    for parameter, _ in gradients:
        parameter.grad = None


def after_step(optimizer: Any) -> None:
    """An optimizer has stepped. Gives its gradients back, as after any other step."""
    for parameter, gradient in taken.pop(id(optimizer), ()):
        if parameter.grad is None:
            parameter.grad = gradient


def forget() -> None:
    """The program is no longer debugged: steps that were to be skipped are not."""
    global on_order
    on_order = None
    to_skip.clear()


def _groups(optimizer: int, group: int) -> Iterator[dict[str, Any]]:
    for number, each in enumerate(list(step_record.optimizers)):
        if optimizer in (-1, number):
            for place, parameters in enumerate(each.param_groups):
                if group in (-1, place) and "lr" in parameters:
                    yield parameters


def _set_rate(group: dict[str, Any], value: float) -> None:
    import torch

    rate = group["lr"]
    if isinstance(rate, torch.Tensor):
        # Compiled and captured optimizers keep it.
        with torch.no_grad():
            rate.fill_(value)
    else:
        group["lr"] = value


def _existing() -> str:
    found = [
        f"{i}: {type(each).__name__}, {len(each.param_groups)} groups" for i, each in enumerate(step_record.optimizers)
    ]
    return "; ".join(found) or "the program has made no optimizer of torch.optim"
