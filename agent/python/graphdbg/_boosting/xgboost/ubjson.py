"""Reads the Universal Binary JSON that XGBoost writes models in, which takes a quarter of the time of its text."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

# NumPy's types by the format's letters.
_NAMES = {"i": "i1", "U": "u1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}
_TYPES = {ord(letter): np.dtype(name) for letter, name in _NAMES.items()}
_OBJECT, _END_OF_OBJECT, _ARRAY, _STRING, _TYPED = b"{}[S$"
# "L" and the number: XGBoost writes no shorter ones.
_length_at = struct.Struct(">xq").unpack_from
_LENGTH_BYTES = 9


def find_list(data: bytes, name: str) -> Any:
    """The first list of this name in the document, None if there is none; the rest is not read.

    Arrays of numbers are NumPy's, in the document's memory and byte order: see `native`.
    """
    # Texts, such as names of features, may be the same, but no list follows them.
    key = b"L" + len(name).to_bytes(_LENGTH_BYTES - 1, "big") + name.encode()
    at = data.find(key + bytes([_ARRAY]))
    return None if at < 0 else _value(data, at + len(key))[0]


def native(values: Any) -> Any:
    """A copy of an array in the machine's own byte order."""
    return values.astype(values.dtype.newbyteorder("="))


def _value(data: bytes, at: int) -> tuple[Any, int]:
    """The value at a place, and the place behind it."""
    kind = data[at]
    at += 1
    if kind == _OBJECT:
        found = {}
        while data[at] != _END_OF_OBJECT:
            key, at = _text(data, at)
            found[key], at = _value(data, at)
        return found, at + 1
    if kind == _ARRAY:
        # "$", the type of all elements, "#", their number; or "#", their number, and each with its type.
        if data[at] == _TYPED:
            return _numbers(data, at + 3 + _LENGTH_BYTES, data[at + 1], _length_at(data, at + 3)[0])
        (count,) = _length_at(data, at + 1)
        at += 1 + _LENGTH_BYTES
        elements = []
        for _ in range(count):
            element, at = _value(data, at)
            elements.append(element)
        return elements, at
    if kind == _STRING:
        return _text(data, at)
    number, at = _numbers(data, at, kind, 1)
    return number[0], at


def _text(data: bytes, at: int) -> tuple[str, int]:
    begin = at + _LENGTH_BYTES
    end = begin + _length_at(data, at)[0]
    return data[begin:end].decode(), end


def _numbers(data: bytes, at: int, kind: int, count: int) -> tuple[Any, int]:
    type_ = _TYPES[kind]
    return np.frombuffer(data, type_, count, at), at + count * type_.itemsize
