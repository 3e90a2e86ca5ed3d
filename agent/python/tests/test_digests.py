"""The digests that PyTorch computes on a device are those that the agent computes in host memory."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from graphdbg import _c_api  # noqa: E402
from graphdbg._torch.training import digests  # noqa: E402

TYPES = ["bool", "uint8", "int16", "bfloat16", "float32", "int64", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("dtype", TYPES)
def test_digests_are_the_same_wherever_they_are_computed(monkeypatch: pytest.MonkeyPatch, dtype: str) -> None:
    monkeypatch.setattr(digests, "_PART", 100)
    library = _c_api.load()
    values = (torch.arange(-100, 201).reshape(7, 43) * 77).to(getattr(torch, dtype))
    before = values.clone()
    for tensor in (values, values.t(), values[:, ::2], values[0, 0], values[:0]):
        there = int(digests.on_device(tensor).item()) & (1 << 64) - 1
        assert digests.of_host(library, tensor) == there
    assert torch.equal(values, before)
    assert digests.of_host(library, values) != digests.of_host(library, values.flip(0))
