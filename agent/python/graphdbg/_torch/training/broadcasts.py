"""Losses that broadcast shapes such as [N, 1] and [N], which combines each sample with all others."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from .loss_graph import Shape, op_of, shape_before, shape_of

_LOSSES = ("MseLoss", "HuberLoss", "SmoothL1Loss")


class _Operands(NamedTuple):
    """The shapes that an op broadcasts: of a result of the model, and of a tensor without gradient."""

    own: Shape
    other: Shape
    result: Shape


def mistake_in(node: Any, user: Any) -> str | None:
    """Describes what a node of the loss broadcasts by mistake. `user` is the node that uses its result."""
    op = op_of(node)
    if op in ("Sub", "Rsub"):
        found, kinds = _in_difference(node), ("compares outputs", "labels", "output")
    elif op == "Expand":
        found, kinds = _in_loss_function(node, user), ("compares outputs", "labels", "output")
    elif op in ("Mul", "Div"):
        found, kinds = _in_product(node), ("weights values", "weights", "value")
        if found is None:
            return _of_differences(node)
    else:
        return None
    if found is None:
        return None
    what, others, one = kinds
    return (
        f"the loss {what} of shape {list(found.own)} with {others} of shape {list(found.other)}, which gives "
        f"{list(found.result)}: each {one} is combined with the {others} of all samples"
    )


def _in_difference(node: Any) -> _Operands | None:
    result, own = shape_of(node), _only_argument(node)
    # `outputs[:, None] - labels` compares each with each on purpose.
    if result is None or own is None or _adds_dimension(own):
        return None
    shape = shape_of(own)
    return _meeting(shape, [*_without_one(shape), (*shape, 1)], result) if shape is not None else None


def _in_loss_function(node: Any, user: Any) -> _Operands | None:
    """A loss function expands both of its arguments before it compares them."""
    result, shape = shape_of(node), shape_before(node)
    argument = node.next_functions[0][0]
    if user is None or result is None or shape is None or (argument is not None and _adds_dimension(argument)):
        return None
    is_loss = op_of(user) in _LOSSES or (op_of(user) in ("Sub", "Rsub") and _only_argument(user) is node)
    return _meeting(shape, [*_without_one(shape), *_with_one(shape)], result) if is_loss else None


def _in_product(node: Any) -> _Operands | None:
    result, own = shape_of(node), _only_argument(node)
    shape = shape_of(own) if own is not None else None
    if result is None or shape is None or shape == result or _adds_dimension(own):
        return None
    weights = _weights_of(node, own)
    other = tuple(weights.shape) if weights is not None else ()
    return _meeting(shape, [each for each in (*_without_one(shape), (*shape, 1)) if each == other], result)


def _of_differences(node: Any) -> str | None:
    """Describes weights that combine all samples already, such as returns of shape [N] minus values of shape [N, 1],
    which autograd has not recorded."""
    own = _only_argument(node)
    weights = _weights_of(node, own) if own is not None else None
    if weights is None or weights.dim() != 2:
        return None
    size = len(weights)
    if weights.shape != (size, size) or shape_of(own) not in ((size,), (size, 1)) or not _is_difference(weights):
        return None
    return (
        f"the loss weighs values of shape {list(shape_of(own) or ())} with weights of shape {[size, size]}, which are "
        f"the differences of [{size}] and [{size}, 1]: each value is combined with the weights of all samples"
    )


def _weights_of(node: Any, own: Any) -> Any:
    """What a product multiplies its only argument that has a gradient with."""
    first, _ = node.next_functions[0]
    return getattr(node, "_saved_other" if first is own else "_saved_self", None)


def _is_difference(matrix: Any) -> bool:
    """Whether a matrix is a row minus a column, neither of which is constant."""
    if len(matrix) < 3 or not matrix.is_floating_point():
        return False
    row, column = matrix[:1] - matrix[0, 0], matrix[:, :1]
    rounding = 8 * float(matrix.abs().amax()) * _epsilon(matrix)
    is_sum = bool(((row + column) - matrix).abs().amax() <= rounding)
    return is_sum and bool(row.abs().amax() > rounding) and bool((column - column[0]).abs().amax() > rounding)


def _epsilon(tensor: Any) -> float:
    import torch

    return float(torch.finfo(tensor.dtype).eps)


def _only_argument(node: Any) -> Any | None:
    """The node of the only argument that has a gradient; None if both have one, or if it is not a result."""
    inputs = [following for following, _ in node.next_functions]
    found = [each for each in inputs if each is not None]
    # A parameter has no samples.
    is_result = len(inputs) == 2 and len(found) == 1 and not op_of(found[0]).endswith("AccumulateGrad")
    return found[0] if is_result else None


def _adds_dimension(node: Any) -> bool:
    """Whether a result has been given a dimension of size 1 by the program, other than by a layer."""
    op = op_of(node)
    if op in ("Unsqueeze", "Expand"):
        return True
    before, after = shape_before(node), shape_of(node)
    if "View" not in op or before is None or after is None or before not in _without_one(after):
        return False
    # A linear layer flattens its input for the product.
    viewed, _ = node.next_functions[0]
    return viewed is None or op_of(viewed) not in ("Addmm", "Mm")


def _meeting(own: Shape, others: list[Shape], result: Shape) -> _Operands | None:
    """The first of the shapes that gives this result, if that is larger than both."""
    for other in others:
        if result != own and _broadcast(own, other) == result and math.prod(result) > math.prod(own):
            return _Operands(own, other, result)
    return None


def _without_one(shape: Shape) -> Iterator[Shape]:
    """The shape without one of its dimensions of size 1."""
    yield from (shape[:index] + shape[index + 1 :] for index, size in enumerate(shape) if size == 1)


def _with_one(shape: Shape) -> Iterator[Shape]:
    """The shape with another dimension of size 1, at the end first."""
    yield from ((*shape[:index], 1, *shape[index:]) for index in range(len(shape), 0, -1))


def _broadcast(first: Shape, second: Shape) -> Shape | None:
    import torch

    try:
        return tuple(torch.broadcast_shapes(first, second))
    except RuntimeError:
        return None
