"""Samples of tensors, which are compared in place of all elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# At least so many elements of each tensor that has them, and less than twice as many. Each
# is a line of the cache.
ELEMENTS = 64


def sample_of(tensor: Any, count: int = ELEMENTS) -> Any:
    """Elements of a tensor, evenly spread; a view if its layout allows that."""
    size = tensor.numel()
    stride = max(1, size // count)
    if tensor.is_contiguous():
        return tensor.as_strided((size // stride,), (stride,))
    return tensor.detach().reshape(-1)[::stride]


def is_sampled_whole(tensor: Any) -> bool:
    """Whether the sample has all elements."""
    return bool(tensor.numel() < 2 * ELEMENTS)


def samples_of(tensors: Sequence[Any], count: int = ELEMENTS) -> Any:
    """Copies of the samples of tensors of one device and type, [tensors, elements], filled up with zeros."""
    from torch.nn.utils.rnn import pad_sequence

    return pad_sequence([sample_of(tensor, count) for tensor in tensors], batch_first=True)
