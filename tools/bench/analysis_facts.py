"""The size of the run that `tools/dev bench analysis` asks about, its tensors, and the facts planted in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

WEIGHT, GRADIENT, ACTIVATION = 1, 2, 3
# Tensors of a layer: its weight, the outputs of its two ops, and the gradient of its weight.
_PER_LAYER = 4
LOSS = "forward/loss"


@dataclass(frozen=True)
class Tensor:
    """A tensor that every rank records once in each step: output 0 of a node.

    Attributes:
        node: The node's name.
        category: WEIGHT, GRADIENT or ACTIVATION.
        op_type: The node's; "" of a parameter.
    """

    node: str
    category: int
    op_type: str

    @property
    def name(self) -> str:
        return f"{self.node}:0"


@dataclass(frozen=True)
class Size:
    """The size of a run; the smallest one that has room for the facts is 2 ranks, 4 steps and 5 tensors."""

    ranks: int
    steps: int
    tensors: int

    def __post_init__(self) -> None:
        if self.ranks < 2 or self.steps < 4 or self.tensors <= _PER_LAYER:
            raise ValueError(f"at least 2 ranks, 4 steps and {_PER_LAYER + 1} tensors are required")

    @property
    def rows(self) -> int:
        return self.ranks * self.steps * self.tensors

    @property
    def layers(self) -> int:
        return (self.tensors - 1) // _PER_LAYER

    def __str__(self) -> str:
        return f"{self.ranks}x{self.steps}x{self.tensors}"


@dataclass(frozen=True)
class Facts:
    """What is wrong in a run. All of it happens after the step in which rank 1 diverges.

    Rank 1 has the data of rank 0, and so records the same values, up to one op of one step. All ranks
    have the same weights and the same loss.
    """

    size: Size

    @cached_property
    def tensors(self) -> list[Tensor]:
        """In the order in which a step executes them."""
        layers = range(self.size.layers)
        forward = [each for layer in layers for each in _forward(layer)]
        head = [
            Tensor(f"forward/head/{number}/relu", ACTIVATION, "aten::relu")
            for number in range(self.size.tensors - 1 - _PER_LAYER * self.size.layers)
        ]
        backward = [
            Tensor(f"backward/layers/{layer}/weight_grad", GRADIENT, "aten::mm_backward") for layer in reversed(layers)
        ]
        return [*forward, *head, Tensor(LOSS, ACTIVATION, "aten::mse_loss"), *backward]

    def names(self, category: int) -> list[str]:
        return [each.name for each in self.tensors if each.category == category]

    def index(self, node: str) -> int:
        """The place of a node's tensor in a step, from 0."""
        return next(index for index, each in enumerate(self.tensors) if each.node == node)

    def _step(self, share: float) -> int:
        return max(1, round(share * self.size.steps))

    @property
    def patience(self) -> int:
        """Observations that the rules about the loss and about gradients wait for: 10 and 5 in long runs."""
        return min(10, max(1, self.size.steps // 8))

    # --- two ranks diverge

    @property
    def divergence_step(self) -> int:
        return self._step(0.25)

    @property
    def divergence_node(self) -> str:
        """The op whose output, and that of all later ops, differs on rank 1."""
        return f"forward/layers/{self.size.layers // 3}/relu"

    # --- the gradient of one weight vanishes on the last rank

    @property
    def vanishing_step(self) -> int:
        """The first step in which it is close to zero."""
        return self._step(0.4)

    @property
    def vanishing_hold(self) -> int:
        """How many steps in a row the rule requires."""
        return max(1, self.patience // 2)

    @property
    def vanishing_node(self) -> str:
        return f"backward/layers/{self.size.layers // 4}/weight_grad"

    # --- replicas of one weight part on the last rank

    @property
    def parting_step(self) -> int:
        return self._step(0.5)

    @property
    def parting_node(self) -> str:
        return f"forward/layers/{self.size.layers // 2}/weight"

    # --- the loss stops decreasing

    @property
    def stall_step(self) -> int:
        """The step whose loss all later ones have."""
        return self._step(0.5)

    def loss(self, step: int) -> float:
        """Halves each eighth of the run, until it stalls."""
        return float(2.0 ** (-8 * min(step, self.stall_step) / self.size.steps))

    # --- the first tensor that is not finite

    @property
    def nonfinite_step(self) -> int:
        return self._step(0.75)

    @property
    def nonfinite_rank(self) -> int:
        return self.size.ranks // 2

    @property
    def nonfinite_node(self) -> str:
        """The op whose output, and that of all later ops of the step, has NaN."""
        return f"forward/layers/{2 * self.size.layers // 3}/linear"

    # --- a large activation, which every rank has at some steps

    @property
    def loud_node(self) -> str:
        return f"forward/layers/{self.size.layers // 5}/linear"

    @property
    def loud_after(self) -> int:
        """The step behind which the condition looks."""
        return self.size.steps // 5

    def is_loud(self, step: int) -> bool:
        return step % max(1, self.size.steps // 50) == 0


def _forward(layer: int) -> list[Tensor]:
    scope = f"forward/layers/{layer}"
    return [
        Tensor(f"{scope}/weight", WEIGHT, ""),
        Tensor(f"{scope}/linear", ACTIVATION, "aten::linear"),
        Tensor(f"{scope}/relu", ACTIVATION, "aten::relu"),
    ]
