"""Compares statistics of tensors in host memory with NumPy."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

ROOT = Path(__file__).resolve().parents[3]
LIBRARY = ROOT / "bazel-bin/agent/kernels/testing/libkernels.so"

# The numbers in agent/include/graphdbg/agent.h.
DTYPES = {
    torch.bool: 1,
    torch.int8: 2,
    torch.int16: 3,
    torch.int32: 4,
    torch.int64: 5,
    torch.uint8: 6,
    torch.float16: 10,
    torch.bfloat16: 11,
    torch.float32: 12,
    torch.float64: 13,
}
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTEGERS = [dtype for dtype in DTYPES if dtype not in FLOATS]


class View(ctypes.Structure):
    _fields_ = (
        ("dtype", ctypes.c_int32),
        ("data", ctypes.c_void_p),
        ("ndim", ctypes.c_uint64),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
    )

    def __init__(self, tensor: torch.Tensor) -> None:
        array = ctypes.c_int64 * max(tensor.dim(), 1)
        shape, strides = array(*tensor.shape), array(*tensor.stride())
        super().__init__(DTYPES[tensor.dtype], tensor.data_ptr(), tensor.dim(), shape, strides)


@pytest.fixture(scope="module")
def kernels() -> ctypes.CDLL:
    assert LIBRARY.exists(), "bazel build //agent/kernels/testing/..."
    library = ctypes.CDLL(str(LIBRARY))
    library.count_changed.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double, ctypes.c_double, ctypes.c_int]
    library.count_in_range.argtypes = [ctypes.c_void_p, ctypes.c_double, ctypes.c_double]
    library.count_changed.restype = library.count_in_range.restype = ctypes.c_int64
    return library


def numbers(function: Callable[..., int], count: int, *tensors: torch.Tensor) -> list[float]:
    out = (ctypes.c_double * count)()
    assert function(*[ctypes.byref(View(tensor)) for tensor in tensors], out) == 1
    return list(out)


def wide(tensor: torch.Tensor) -> np.ndarray:
    return tensor.double().numpy()


def expected_statistics(x: np.ndarray) -> list[float]:
    finite = x[np.isfinite(x)]
    counts = [x.size, np.isnan(x).sum(), np.isposinf(x).sum(), np.isneginf(x).sum()]
    counts += [(finite == 0).sum(), (finite < 0).sum(), (finite > 0).sum()]
    if finite.size == 0:
        return [float(n) for n in counts] + [0.0] * 8
    size = np.abs(finite)
    values = [finite.min(), finite.max(), finite.mean(), size.mean(), size.max(), finite.var()]
    return [float(n) for n in [*counts, *values, size.sum(), math.sqrt((finite * finite).sum())]]


def tensors_of(dtype: torch.dtype) -> list[torch.Tensor]:
    torch.manual_seed(3)
    scale = 50 if dtype in INTEGERS else 1
    flat = (
        (torch.randn(6000) * scale + scale / 4).abs_().to(dtype)
        if dtype is torch.uint8
        else ((torch.randn(6000) * scale + scale / 4).to(dtype))
    )
    image = flat[:2400].reshape(2, 3, 20, 20)
    views = [flat, flat[:1], flat[:0], flat[7], flat[1:4098], flat[::3], flat[:60].reshape(10, 6).t()]
    views += [image.contiguous(memory_format=torch.channels_last), image[:, 1, ::2], image.permute(3, 1, 0, 2)]
    views += [flat[:8].expand(5, 8), flat[:2].reshape(1, 2).expand(3, 2), flat[:1024].reshape([2] * 10)]
    return views


def with_bad_values(tensor: torch.Tensor) -> torch.Tensor:
    bad = tensor.clone()
    bad.view(-1)[::7] = math.nan
    bad.view(-1)[1::11] = math.inf
    bad.view(-1)[2::13] = -math.inf
    bad.view(-1)[3::17] = -0.0
    return bad


@pytest.mark.parametrize("dtype", list(DTYPES), ids=str)
def test_statistics_are_those_of_numpy(kernels: ctypes.CDLL, dtype: torch.dtype) -> None:
    for tensor in tensors_of(dtype):
        actual = numbers(kernels.measure, 15, tensor)
        expected = expected_statistics(wide(tensor))
        assert actual[:9] == expected[:9]
        np.testing.assert_allclose(actual[9:], expected[9:], rtol=1e-11, atol=1e-13)
        assert kernels.all_finite(ctypes.byref(View(tensor))) == 1


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_values_that_are_not_finite_are_counted_apart(kernels: ctypes.CDLL, dtype: torch.dtype) -> None:
    tensor = with_bad_values(tensors_of(dtype)[0])
    actual = numbers(kernels.measure, 15, tensor)
    expected = expected_statistics(wide(tensor))
    assert actual[:9] == expected[:9]
    np.testing.assert_allclose(actual[9:], expected[9:], rtol=1e-11)
    assert kernels.all_finite(ctypes.byref(View(tensor))) == 0


@pytest.mark.parametrize("dtype", list(DTYPES), ids=str)
def test_quantiles_are_those_of_numpy_within_the_error(kernels: ctypes.CDLL, dtype: torch.dtype) -> None:
    percents = (1, 5, 10, 25, 50, 75, 90, 95, 99)
    for tensor in [*tensors_of(dtype), *([with_bad_values(tensors_of(dtype)[0])] if dtype in FLOATS else [])]:
        x = wide(tensor)
        x = x[np.isfinite(x)]
        if x.size == 0:
            continue
        expected = np.percentile(x, percents, method="inverted_cdf")
        exact = tensor.numel() <= 4096 or tensor.element_size() <= 2
        actual = numbers(kernels.quantiles, 9, tensor)
        np.testing.assert_allclose(actual, expected, rtol=0 if exact else 1 / 128)


@pytest.mark.parametrize("dtype", list(DTYPES), ids=str)
def test_pairs_and_ranges_are_those_of_numpy(kernels: ctypes.CDLL, dtype: torch.dtype) -> None:
    for tensor in tensors_of(dtype):
        previous = tensor.clone()
        if dtype in FLOATS:
            previous = previous * (1 + 0.01 * torch.randn(tensor.shape).to(dtype))
        elif dtype is not torch.bool:
            previous = previous + (torch.rand(tensor.shape) > 0.5).to(dtype)
        x, old = wide(tensor), wide(previous)
        actual = numbers(kernels.compare, 7, tensor, previous)
        assert actual[:2] == [x.size, x.size]
        if x.size > 0:
            change = np.abs(x - old)
            values = [change.mean(), change.max(), np.sqrt((change**2).sum()), np.abs(old).mean()]
            np.testing.assert_allclose(actual[2:], [*values, np.sqrt((old**2).sum())], rtol=1e-11, atol=1e-13)
        now_view, old_view = View(tensor), View(previous)
        for rtol, atol in ((1e-5, 1e-8), (0.01, 0.0), (0.0, 1.0)):
            changed = kernels.count_changed(ctypes.addressof(now_view), ctypes.addressof(old_view), rtol, atol, 0)
            assert changed == (~np.isclose(x, old, rtol=rtol, atol=atol)).sum()
        within = kernels.count_in_range(ctypes.addressof(now_view), -0.5, 20.0)
        assert within == ((x >= -0.5) & (x <= 20)).sum()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_closeness_of_values_that_are_not_finite_is_that_of_numpy(kernels: ctypes.CDLL, dtype: torch.dtype) -> None:
    kinds = [math.nan, math.inf, -math.inf, 0.0, 1.0]
    now = torch.tensor([a for a in kinds for _ in kinds], dtype=dtype)
    old = torch.tensor([b for _ in kinds for b in kinds], dtype=dtype)
    now_view, old_view = View(now), View(old)
    for equal_nan in (False, True):
        changed = kernels.count_changed(ctypes.addressof(now_view), ctypes.addressof(old_view), 1e-5, 1e-8, equal_nan)
        assert changed == (~np.isclose(wide(now), wide(old), equal_nan=equal_nan)).sum()
