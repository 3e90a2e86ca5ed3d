"""Why gradients are zero: ops in autograd's graph whose results hardly depend on their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .loss_graph import nodes_below, normalizes_one, op_of

# Functions that are constant between their steps.
_STEPS = ("Round", "Floor", "Ceil", "Trunc", "Sign", "Sgn")


def flat_op_between(roots: Sequence[Any], parameters: Sequence[Any]) -> str | None:
    """Describes an op on the way from a loss to one of the parameters that makes their gradients zero."""
    searched = {id(parameter) for parameter in parameters}
    for node in nodes_below([root.grad_fn for root in roots]):
        cause = _cause_at(node)
        if cause is not None and any(_parameter_id(each) in searched for each in nodes_below([node])):
            return cause
    return None


def _cause_at(node: Any) -> str | None:
    op = op_of(node)
    if op in _STEPS:
        return f"{op.lower()}() has a gradient of zero everywhere"
    if normalizes_one(node):
        return "softmax is over a dimension of size 1, so that its result never changes"
    if op == "Relu" and _is_all_zero(node):
        return "relu() returns only zeros, since all that it is given is negative"
    return None


def _is_all_zero(node: Any) -> bool:
    """Whether the result that a node has kept is zero everywhere. Checkpoints would compute it again."""
    kept = getattr(node, "_raw_saved_result", None)
    if kept is None or getattr(kept, "unpack_hook", kept) is not None:
        return False
    try:
        result = node._saved_result
    except RuntimeError:
        # It was changed in place.
        return False
    return bool(result.numel()) and not bool(result.any())


def _parameter_id(node: Any) -> int | None:
    """The id of the tensor whose gradient a node accumulates."""
    variable = getattr(node, "variable", None)
    return None if variable is None else id(variable)
