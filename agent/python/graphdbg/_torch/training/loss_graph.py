"""Autograd's graph between a loss and the model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

Shape = tuple[int, ...]

# How many nodes are looked at, from the loss on, and in whole graphs.
_NODES = 64
_ALL_NODES = 20000
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


def nodes_below(roots: Sequence[Any]) -> Iterator[Any]:
    """All nodes that these depend on, and themselves; None has none."""
    waiting = [root for root in roots if root is not None]
    seen = set(waiting)
    while waiting and len(seen) <= _ALL_NODES:
        node = waiting.pop()
        yield node
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                waiting.append(following)


def leaves_of(tensor: Any) -> Iterator[Any]:
    """The tensors that require gradients and that this one was computed from; itself, if it is one."""
    if tensor.is_leaf:
        if tensor.requires_grad:
            yield tensor
        return
    for node in nodes_below([tensor.grad_fn]):
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            yield leaf


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


def normalizes_one(node: Any) -> bool:
    """Whether a node differentiates a softmax over a dimension of size 1."""
    if op_of(node) not in ("Softmax", "LogSoftmax"):
        return False
    shape, dimension = shape_of(node), saved_dimension(node)
    if shape is None or dimension is None:
        return False
    # A batch of one sample may well be compared with itself, but a layer that makes one value is a mistake.
    if max(shape, default=1) == 1 and op_of(node.next_functions[0][0]) != "Addmm":
        return False
    return dimension < len(shape) and shape[dimension] == 1


def saved_dimension(node: Any) -> int | None:
    """The dimension that an op such as softmax works over, from 0; None if PyTorch does not provide it."""
    shape, dimension = shape_of(node), getattr(node, "_saved_dim", None)
    if shape is None or dimension is None:
        return None
    # Dimensions from the end are stored as unsigned numbers.
    dimension = dimension - (1 << 64) if dimension >= 1 << 63 else dimension
    return int(dimension % len(shape)) if -len(shape) <= dimension < len(shape) else None
