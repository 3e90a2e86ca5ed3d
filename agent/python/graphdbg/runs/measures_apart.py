"""Whether records of the same tensors in two runs are equal.

Counts must be equal. Measures are equal if |here - there| <= atol + rtol * size, where size is the larger absolute
value of the two; of means, which may cancel out, the larger mean of absolute values, of variances the larger mean of
squares, and of the least and greatest element the larger greatest absolute value. A difference that follows from
elements which differ by at most `floor` is none, either.
"""

from __future__ import annotations

import numpy

from .record import CHANGE, Array

_EXACT = ("count", "nan_count", "pos_inf_count", "neg_inf_count")
_CLOSE = ("min", "max", "mean", "abs_mean", "abs_max", "variance", "l1", "l2")
# In the order in which they are compared.
MEASURES_COMPARED = (*_EXACT, *_CLOSE)
_LIGHT = 1
_SIZES = {"mean": "abs_mean", "min": "abs_max", "max": "abs_max"}


def digests_apart(here: Array, there: Array) -> Array:
    """0 where the digests of two records differ, -1 where they are equal."""
    return numpy.where(here.view(CHANGE)["digest"] != there.view(CHANGE)["digest"], 0, -1)


def measures_apart(here: Array, there: Array, rtol: Array, atol: float, floor: Array) -> Array:
    """The place in MEASURES_COMPARED of the first measure that differs; -1 where none does."""
    found = numpy.full(len(here), -1)
    light = (here["flags"] | there["flags"]) & _LIGHT != 0
    with numpy.errstate(invalid="ignore", over="ignore"):
        for number, name in enumerate(MEASURES_COMPARED):
            x, y = here[name], there[name]
            differ = x != y
            if name in _CLOSE:
                size = _size(here, there, name)
                allowed = atol + rtol * size + _from_elements(name, floor, size, here["count"])
                far = ~(numpy.abs(x - y) <= allowed)
                absent_x, absent_y = numpy.isnan(x), numpy.isnan(y)
                differ &= ~(absent_x & absent_y) & ~(light & (absent_x | absent_y))
                # An infinite size makes no tolerance.
                differ &= far | ~(numpy.isfinite(x) & numpy.isfinite(y))
            found[(found < 0) & differ] = number
    return found


def relative_differences(here: Array, there: Array) -> Array:
    """The largest relative difference of a measure; 0 where they are equal."""
    largest = numpy.zeros(len(here))
    with numpy.errstate(invalid="ignore", divide="ignore", over="ignore"):
        for name in _CLOSE:
            apart = numpy.abs(here[name] - there[name])
            relative = numpy.where(apart == 0, 0.0, apart / _size(here, there, name))
            largest = numpy.fmax(largest, relative)
    return largest


def _size(here: Array, there: Array, name: str) -> Array:
    """The size to which a relative tolerance of a measure refers."""
    sizes = [
        each["variance"] + each["mean"] ** 2 if name == "variance" else numpy.abs(each[_SIZES.get(name, name)])
        for each in (here, there)
    ]
    largest: Array = numpy.fmax(*sizes)
    return largest


def _from_elements(name: str, floor: Array, size: Array, count: Array) -> Array:
    """By how much a measure differs if all elements do by `floor`."""
    factor: Array = numpy.ones(len(floor))
    if name == "l1":
        factor = count.astype("f8")
    elif name == "l2":
        factor = numpy.sqrt(count.astype("f8"))
    elif name == "variance":
        # 2 E|x| floor + floor^2, and E|x| is at most the root of the mean of squares.
        factor = 2 * numpy.sqrt(size) + floor
    return floor * factor
