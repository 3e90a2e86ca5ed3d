"""Losses of classes that ignore the labels, or that normalize over another dimension than the classes."""

from __future__ import annotations

from typing import Any

from .loss_graph import op_of, saved_dimension, shape_of

LABEL_CONDITIONS = ("loss_ignores_labels", "loss_wrong_dimension")

_LIKELIHOODS = ("NllLoss", "NllLoss2D")
# Of the result of a model: the first is that of the batch.
_CLASSES = 1


def label_mistake_in(node: Any) -> tuple[str | None, str]:
    """The condition that a node of the loss matches, with a message; None if it matches none."""
    op = op_of(node)
    if op == "Mul" and _is_zero(getattr(node, "_saved_other", None)) and _likelihood_in(node) is not None:
        message = "the comparison with the labels is multiplied by zero, as by a label smoothing of 1"
        return "loss_ignores_labels", message
    if op in _LIKELIHOODS:
        dimension = _normalized_before(node)
        if dimension is not None and dimension != _CLASSES:
            message = (
                f"softmax is over dimension {dimension}, and the loss takes the classes from dimension {_CLASSES}: "
                "the probabilities of the classes do not add up to 1"
            )
            return "loss_wrong_dimension", message
    return None, ""


def _is_zero(factor: Any) -> bool:
    import torch

    if isinstance(factor, torch.Tensor):
        return factor.dim() == 0 and factor.device.type == "cpu" and not factor.item()
    # Factors that are numbers of Python are kept as such.
    return isinstance(factor, (int, float)) and factor == 0


def _likelihood_in(product: Any) -> Any | None:
    """The node of the likelihood of labels that a product multiplies."""
    factors = (following for following, _ in product.next_functions if following is not None)
    return next((each for each in factors if op_of(each) in _LIKELIHOODS), None)


def _normalized_before(likelihood: Any) -> int | None:
    """The dimension of the softmax whose logarithms a likelihood is given; None if there is none."""
    before, _ = likelihood.next_functions[0]
    if before is not None and op_of(before) == "Log":
        before, _ = before.next_functions[0]
    if before is None or op_of(before) not in ("LogSoftmax", "Softmax"):
        return None
    shape = shape_of(before)
    # The likelihood of a single sample has no dimension of the batch.
    return saved_dimension(before) if shape is not None and len(shape) >= 2 else None
