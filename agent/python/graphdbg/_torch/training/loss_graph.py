"""Autograd's graph between a loss and the model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

Shape = tuple[int, ...]

# How many nodes are looked at, from the loss on.
_NODES = 64
# Nodes that a loss is made of. The model is beyond the first that is none of them.
_OF_LOSSES = re.compile(
    "Abs|Add|BinaryCrossEntropy(WithLogits)?|Clamp|Clone|Div|Exp|Expand|HuberLoss|Log|LogSigmoid|LogSoftmax|Mean|MseLoss|"
    "Mul|Neg|NllLoss(2D)?|Pow|Rsub|Sigmoid|SmoothL1Loss|SoftMarginLoss|Softmax|Softplus|Sqrt|Squeeze|Sub|Sum|Unsqueeze|"
    "View|Where"
)


def nodes_of_loss(root: Any) -> Iterator[tuple[Any, Any]]:
    """The nodes between the loss and the model, each with the one that uses its result (None for the loss)."""
    waiting, seen = [(root, None)], {root}
    while waiting and len(seen) <= _NODES:
        node, user = waiting.pop()
        yield node, user
        for following, _ in node.next_functions:
            if following is not None and following not in seen and _OF_LOSSES.fullmatch(op_of(following)):
                seen.add(following)
                waiting.append((following, node))


def op_of(node: Any) -> str:
    """Such as "Sub" for SubBackward0."""
    return str(node.name()).rstrip("0123456789").removesuffix("Backward")


def shape_of(node: Any) -> Shape | None:
    """The shape of the result of the op that a node differentiates; None if PyTorch does not provide it."""
    metadata = getattr(node, "_input_metadata", None)
    if not metadata:
        return None
    try:
        return tuple(int(size) for size in metadata[0].shape)
    except Exception:
        return None


def shape_before(node: Any) -> Shape | None:
    """The shape of the argument of an op that only changes it, such as a view or an expansion."""
    sizes = getattr(node, "_saved_self_sym_sizes", None)
    return tuple(int(size) for size in sizes) if sizes is not None else None
