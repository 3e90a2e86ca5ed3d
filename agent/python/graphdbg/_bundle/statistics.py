"""Statistics of a result, as the HTTP API names them. Needs PyTorch."""

from __future__ import annotations

import torch

from .repro import counts


def statistics(tensor: torch.Tensor) -> dict[str, float | None]:
    """Statistics of a tensor, as the HTTP API names them."""
    values = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    values = values.double().flatten()
    finite = values[torch.isfinite(values)]
    found: dict[str, float | None] = {
        **counts(tensor),
        "zero_count": int((values == 0).sum()),
        "negative_count": int((finite < 0).sum()),
        "positive_count": int((finite > 0).sum()),
    }
    some = finite.numel() > 0
    size = finite.abs()
    found["min"] = float(finite.min()) if some else None
    found["max"] = float(finite.max()) if some else None
    found["mean"] = float(finite.mean()) if some else None
    found["abs_mean"] = float(size.mean()) if some else None
    found["abs_max"] = float(size.max()) if some else None
    found["variance"] = float(finite.var(unbiased=False)) if some else None
    found["l1"] = float(size.sum()) if some else None
    found["l2"] = float(size.square().sum().sqrt()) if some else None
    return found
