"""Values of tensors as NumPy arrays. NumPy is imported when the first value is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import GraphdbgError

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]


def array_of(values: bytes, dtype: str, shape: tuple[int, ...]) -> Array:
    """Makes an array from little-endian values in row-major order.

    bfloat16 and float8 need the package ml_dtypes. Without it, bfloat16 is converted to
    float32, which has all of its values.
    """
    try:
        import numpy
    except ImportError:
        raise GraphdbgError("values of tensors need NumPy: pip install numpy") from None
    try:
        element = numpy.dtype(dtype)
    except TypeError:
        return _of_special_type(values, dtype).reshape(shape)
    little = element.newbyteorder("<")
    # A copy in the machine's own order, because the bytes cannot be written to.
    return numpy.frombuffer(values, dtype=little).astype(element).reshape(shape)


def _of_special_type(values: bytes, dtype: str) -> Array:
    import numpy

    try:
        import ml_dtypes
    except ImportError:
        if dtype == "bfloat16":
            # The upper half of a float32.
            return (numpy.frombuffer(values, dtype="<u2").astype("u4") << 16).view("f4")
        raise GraphdbgError(f"values of type {dtype} need the package ml_dtypes: pip install ml_dtypes") from None
    return numpy.frombuffer(values, dtype=getattr(ml_dtypes, dtype)).copy()
