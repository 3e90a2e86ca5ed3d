"""Where the program is within its step (step_state.h)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from . import c_agent
from .names import FORWARD, Placement


class Circumstances(NamedTuple):
    """What an execution tells of the step it is in."""

    grad_scale: float = 0.0
    micro_step: int = 0
    mode: int = c_agent.MODE_UNKNOWN


@dataclass
class StepState:
    # What the loss was multiplied with; 0 outside scaled backward passes.
    grad_scale: float = 0.0
    # Backward passes of this step that are over, and one.
    micro_step: int = 1
    # How often any optimizer has stepped.
    optimizer_steps: int = 0
    # Backward passes under way that record a graph of their own.
    graphs_in_creation: int = 0
    # Of the model that was called last.
    mode: int = c_agent.MODE_UNKNOWN

    def circumstances(self, placement: Placement) -> Circumstances:
        of_gradients = placement.category == c_agent.GRADIENT
        return Circumstances(
            self.grad_scale if of_gradients else 0.0,
            self.micro_step,
            self.mode if placement.phase == FORWARD else c_agent.TRAIN,
        )
