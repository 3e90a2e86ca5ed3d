"""Gradients and hessians of built-in objectives, from the margins.

The libraries keep their own to themselves. These follow the libraries' formulas, in the
precision of the margins; the last bit may differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .arrays import Array

# Margins of shape (rows,) or (rows, classes), labels of shape (rows,) or that of the
# margins, and parameters of the objective by name.
Formula = Callable[[Array, Array, Mapping[str, float]], tuple[Array, Array]]

_LEAST_HESSIAN = 1e-16


def gradients(
    formula: Formula, margin: Array, label: Array, weight: Array | None, parameters: Mapping[str, float]
) -> tuple[Array, Array]:
    """Gradient and hessian, of the margins' shape and type. `weight` has one number a row."""
    if label.size == margin.size:
        label = label.reshape(margin.shape)
    with np.errstate(all="ignore"):
        gradient, hessian = formula(margin, label.astype(margin.dtype, copy=False), parameters)
    if weight is not None:
        scale = weight.astype(margin.dtype).reshape(-1, *[1] * (margin.ndim - 1))
        gradient, hessian = gradient * scale, hessian * scale
    return packed_as(gradient, margin), packed_as(hessian, margin)


def packed_as(values: Array, like: Array) -> Array:
    if values.shape == like.shape and values.dtype == like.dtype:
        return values
    return np.ascontiguousarray(np.broadcast_to(values, like.shape), like.dtype)


def squared(m: Array, y: Array, _: Any) -> tuple[Array, Array]:
    return m - y, np.ones(1, m.dtype)


def squared_log(m: Array, y: Array, _: Any) -> tuple[Array, Array]:
    m = np.maximum(m, -1 + 1e-6)
    difference = np.log1p(m) - np.log1p(y)
    return difference / (m + 1), np.maximum((1 - difference) / (m + 1) ** 2, 1e-6)


def absolute(m: Array, y: Array, _: Any) -> tuple[Array, Array]:
    return np.sign(m - y), np.ones(1, m.dtype)


def pseudo_huber(m: Array, y: Array, parameters: Mapping[str, float]) -> tuple[Array, Array]:
    slope, z = parameters.get("huber_slope", 1.0), m - y
    root = np.sqrt(1 + z**2 / slope**2)
    return z / root, slope**2 / ((slope**2 + z**2) * root)


def logistic(m: Array, y: Array, parameters: Mapping[str, float]) -> tuple[Array, Array]:
    # In two arrays: allocating others takes longer than what is computed.
    p = np.negative(m)
    np.exp(p, out=p)
    p += 1
    np.reciprocal(p, out=p)
    hessian = 1 - p
    hessian *= p
    np.maximum(hessian, _LEAST_HESSIAN, out=hessian)
    p -= y
    return _positives_scaled(p, hessian, lambda: y == 1, parameters)


def hinge(m: Array, y: Array, _: Any) -> tuple[Array, Array]:
    sign = 2 * y - 1
    is_inside = m * sign < 1
    return np.where(is_inside, -sign, 0), np.where(is_inside, 1, np.finfo(np.float32).tiny)


def poisson(m: Array, y: Array, parameters: Mapping[str, float]) -> tuple[Array, Array]:
    return np.exp(m) - y, np.exp(m + m.dtype.type(parameters.get("max_delta_step", 0.7)))


def gamma(m: Array, y: Array, _: Any) -> tuple[Array, Array]:
    ratio = y * np.exp(-m)
    return 1 - ratio, ratio


def tweedie(m: Array, y: Array, parameters: Mapping[str, float]) -> tuple[Array, Array]:
    rho = parameters.get("tweedie_variance_power", 1.5)
    a, b = y * np.exp((1 - rho) * m), np.exp((2 - rho) * m)
    return b - a, (2 - rho) * b - (1 - rho) * a


def softmax(m: Array, y: Array, parameters: Mapping[str, float]) -> tuple[Array, Array]:
    """`hessian_factor` is what the library multiplies p (1 - p) by."""
    p = np.exp(m - m.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    hessian = np.maximum(m.dtype.type(parameters.get("hessian_factor", 2.0)) * p * (1 - p), _LEAST_HESSIAN)
    p[np.arange(len(y)), y.astype(np.int64)] -= 1
    return p, hessian


def scaled_logistic(m: Array, y: Array, parameters: Mapping[str, float]) -> tuple[Array, Array]:
    """LightGBM's, with `sigmoid` as factor of the margins."""
    factor, sign = m.dtype.type(parameters.get("sigmoid", 1.0)), np.where(y > 0, 1, -1).astype(m.dtype)
    response = -sign * factor / (1 + np.exp(sign * factor * m))
    return _positives_scaled(response, np.abs(response) * (factor - np.abs(response)), lambda: y > 0, parameters)


def _positives_scaled(
    gradient: Array, hessian: Array, is_positive: Callable[[], Array], parameters: Mapping[str, float]
) -> tuple[Array, Array]:
    weight = parameters.get("scale_pos_weight", 1.0)
    if weight == 1:
        return gradient, hessian
    scale = np.where(is_positive(), gradient.dtype.type(weight), gradient.dtype.type(1))
    return gradient * scale, hessian * scale
