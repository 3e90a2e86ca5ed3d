"""The position of the program within its step (step_state.h in the compiled adapter)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ... import _c_api
from .node_names import FORWARD, Placement


class StepContext(NamedTuple):
    """The part of the step's state that is reported with an execution."""

    grad_scale: float = 0.0
    micro_step: int = 0
    mode: int = _c_api.MODE_UNKNOWN


@dataclass
class StepState:
    # The factor of the loss; 0 outside scaled backward passes.
    grad_scale: float = 0.0
    # The number of the backward pass within this step, from 1.
    micro_step: int = 1
    # The number of steps of all optimizers.
    optimizer_steps: int = 0
    # The number of active backward passes that record a graph of their own.
    graphs_in_creation: int = 0
    # The mode of the model that was called last.
    mode: int = _c_api.MODE_UNKNOWN

    def context(self, placement: Placement) -> StepContext:
        is_gradient = placement.category == _c_api.GRADIENT
        return StepContext(
            self.grad_scale if is_gradient else 0.0,
            self.micro_step,
            self.mode if placement.phase == FORWARD else _c_api.TRAIN,
        )
