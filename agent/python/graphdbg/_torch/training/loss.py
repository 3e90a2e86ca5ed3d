"""Losses that cannot teach: detached, broadcast, or of a constant."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from ..user_code import Line, line_of
from .check import PATIENCE, Check, Counts, Report, trained

# How many nodes of autograd's graph are looked at, from the loss on.
_NODES = 64
# Nodes that a loss is made of. The model is beyond the first that is none of them.
_OF_LOSSES = re.compile(
    "Abs|Add|BinaryCrossEntropy(WithLogits)?|Clamp|Clone|Div|Exp|Expand|HuberLoss|Log|LogSigmoid|LogSoftmax|Mean|MseLoss|"
    "Mul|Neg|NllLoss(2D)?|Pow|Rsub|Sigmoid|SmoothL1Loss|SoftMarginLoss|Softmax|Softplus|Sqrt|Squeeze|Sub|Sum|Unsqueeze|"
    "View|Where"
)


class Loss(Check):
    conditions = ("loss_detached", "loss_broadcast", "output_constant")

    def __init__(self, report: Report) -> None:
        super().__init__(report)
        self._passes = 0
        self._passes_at_step = 0
        self._without = Counts()
        self.symptoms = [self._without]
        # A parameter of the optimizer that stepped last.
        self._trained: Any = None

    def backward(self, roots: Sequence[Any], line: Line | None) -> None:
        self._passes += 1
        for root in roots:
            if root.grad_fn is None:
                self._report_leaf(root, line)
            else:
                self._look_at(root, line)

    def _report_leaf(self, root: Any, line: Line | None) -> None:
        import torch

        if isinstance(root, torch.nn.Parameter):
            return
        message = (
            "the backward pass starts at a tensor that was computed from no parameter: it was detached, or made new"
        )
        self._report_at(root, "loss_detached", message, line)

    def _look_at(self, root: Any, line: Line | None) -> None:
        for node in _nodes_of_loss(root.grad_fn):
            shapes = _compared_shapes(node)
            if shapes is not None:
                outputs, labels, result = shapes
                message = (
                    f"the loss compares outputs of shape {list(outputs)} with labels of shape {labels}, which gives "
                    f"{list(result)}: each output is compared with the labels of all samples"
                )
                self._report_at(root, "loss_broadcast", message, line)
            if _normalizes_one(node):
                message = (
                    "softmax is over a dimension of size 1, so that its result is the same whatever the model computes"
                )
                self._report_at(root, "output_constant", message, line)

    def _report_at(self, root: Any, condition: str, message: str, line: Line | None) -> None:
        """Reports a finding at the op that computed the loss, or else at a parameter that it trains."""
        self.report(condition, message, [root])
        if not self.report.has(condition, None) and self._trained is not None:
            self.report(condition, message, [self._trained], line=line)

    def before_step(self, optimizer: Any) -> None:
        parameters = list(trained(optimizer))
        self._trained = parameters[0] if parameters else None
        ran = self._passes > self._passes_at_step
        self._passes_at_step = self._passes
        if not ran or not parameters or self.report.has("loss_detached", None):
            return
        if self._without.add(optimizer, all(parameter.grad is None for parameter in parameters)) >= PATIENCE:
            message = (
                f"no parameter of {type(optimizer).__name__} has had a gradient in {PATIENCE} successive steps: "
                "the loss does not depend on them"
            )
            line = line_of(sys._getframe(1))
            self.report("loss_detached", message, [parameters[0]], line=line, key=id(optimizer))


def _nodes_of_loss(root: Any) -> Iterator[Any]:
    """The nodes of autograd's graph between the loss and the model."""
    waiting, seen = [root], {root}
    while waiting and len(seen) <= _NODES:
        node = waiting.pop()
        yield node
        for following, _ in node.next_functions:
            if following is not None and following not in seen and _OF_LOSSES.fullmatch(_op_of(following)):
                seen.add(following)
                waiting.append(following)


def _op_of(node: Any) -> str:
    """Such as "Sub" for SubBackward0."""
    return str(node.name()).rstrip("0123456789").removesuffix("Backward")


def _shape_of(node: Any) -> tuple[int, ...] | None:
    """The shape of the result of the op that a node differentiates; None if PyTorch does not provide it."""
    metadata = getattr(node, "_input_metadata", None)
    if not metadata:
        return None
    try:
        return tuple(int(size) for size in metadata[0].shape)
    except Exception:
        return None


def _compared_shapes(node: Any) -> tuple[tuple[int, ...], list[int], tuple[int, ...]] | None:
    """The shapes of outputs, labels and their difference, if [N] met [N, 1]."""
    op = _op_of(node)
    if op not in ("Sub", "Rsub", "Expand"):
        return None
    result = _shape_of(node)
    inputs = [following for following, _ in node.next_functions]
    if result is None or len(result) != 2 or result[0] != result[1] or result[0] < 2:
        return None
    # The labels have no gradient. An expansion is that of a loss function.
    if op != "Expand" and None not in inputs:
        return None
    differentiated = next((following for following in inputs if following is not None), None)
    # `outputs[:, None] - labels` is meant to compare each with each.
    if differentiated is None or _op_of(differentiated) == "Unsqueeze":
        return None
    sizes = getattr(node, "_saved_self_sym_sizes", None) if op == "Expand" else None
    outputs = tuple(int(size) for size in sizes) if sizes else _shape_of(differentiated)
    count = result[0]
    if outputs == (count, 1):
        return outputs, [count], result
    if outputs == (count,):
        return outputs, [count, 1], result
    return None


def _normalizes_one(node: Any) -> bool:
    if _op_of(node) not in ("Softmax", "LogSoftmax"):
        return False
    shape, dimension = _shape_of(node), getattr(node, "_saved_dim", None)
    # A batch of one sample may well be compared with itself.
    if shape is None or max(shape, default=1) == 1 or dimension is None:
        return False
    # Dimensions from the end are stored as unsigned numbers.
    dimension = dimension - (1 << 64) if dimension >= 1 << 63 else dimension
    return bool(-len(shape) <= dimension < len(shape) and shape[dimension] == 1)
