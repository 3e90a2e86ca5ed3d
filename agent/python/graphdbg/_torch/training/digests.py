"""Digests of the bits of tensors, by the formula of proto/runs/digest.h."""

from __future__ import annotations

from typing import Any

# Elements that are converted at a time, to limit the memory for them.
_PART = 1 << 22
_BITS = 64


def _signed(number: int) -> int:
    """The number of 64 bits as PyTorch's int64 has it."""
    return number - (1 << _BITS) if number >> (_BITS - 1) else number


_GOLDEN = _signed(0x9E3779B97F4A7C15)
_FACTORS = ((30, _signed(0xBF58476D1CE4E5B9)), (27, _signed(0x94D049BB133111EB)))
_LAST_SHIFT = 31


def of_host(library: Any, tensor: Any) -> int:
    """The digest of a tensor in host memory, which the agent computes."""
    values = tensor.detach().contiguous()
    return int(library.graphdbg_digest(values.data_ptr(), values.numel(), values.element_size()))


def on_device(tensor: Any) -> Any:
    """The digest as a scalar of type int64, which PyTorch computes on the tensor's device."""
    import torch

    bits = _bits(tensor.detach())
    total = torch.zeros((), dtype=torch.int64, device=tensor.device)
    for begin in range(0, bits.numel(), _PART):
        part = bits[begin : begin + _PART].to(torch.int64, copy=True)
        if bits.element_size() < 8:
            # Zero-extended.
            part &= (1 << (8 * bits.element_size())) - 1
        index = torch.arange(begin + 1, begin + 1 + part.numel(), dtype=torch.int64, device=tensor.device)
        part ^= index.mul_(_GOLDEN)
        for shift, factor in _FACTORS:
            part ^= _shifted(part, shift)
            part *= factor
        part ^= _shifted(part, _LAST_SHIFT)
        total += part.sum()
    return total


def _bits(tensor: Any) -> Any:
    """The elements as integers of the same size, in one dimension."""
    import torch

    if tensor.dtype == torch.complex128:
        tensor = torch.view_as_real(tensor)
    integers = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return tensor.reshape(-1).view(integers[tensor.element_size()])


def _shifted(values: Any, count: int) -> Any:
    """Shifts to the right, filling with zeros as for unsigned numbers."""
    return (values >> count) & ((1 << (_BITS - count)) - 1)
