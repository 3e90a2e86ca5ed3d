"""The states of Python's and NumPy's random number generators, as 624 words and the position in them.

They are taken at each step, so they are copied from the generators' memory: `getstate` makes an object of each word,
which takes as long as many small ops.
"""

from __future__ import annotations

import _random
import ctypes
import functools
import random
import struct
import sys
from typing import Any

_WORDS = 625
_BYTES = 4 * _WORDS


def of_python() -> bytes:
    """The position comes first."""
    address = _address_of_python()
    return ctypes.string_at(address, _BYTES) if address else _asked_python()


def of_numpy() -> bytes | None:
    """The position comes last. None without NumPy, or if `numpy.random.seed` sets a generator of another kind."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not hasattr(numpy, "random"):
        return None
    generator = numpy.random.mtrand._rand._bit_generator
    if type(generator) is not numpy.random.MT19937:
        return None
    with generator.lock:
        return ctypes.string_at(generator.ctypes.state_address, _BYTES)


def words_of_python(state: bytes) -> list[int]:
    position, *words = _words(state)
    return [*words, position]


def words_of_numpy(state: bytes) -> list[int]:
    return _words(state)


def _words(state: bytes) -> list[int]:
    return list(struct.unpack(f"{_WORDS}I", state))


def _asked_python() -> bytes:
    *words, position = random.getstate()[1]
    return struct.pack(f"{_WORDS}I", position, *words)


@functools.cache
def _address_of_python() -> int:
    """0 if this Python lays the generator out in another way."""
    generator: Any = getattr(random, "_inst", None)
    header = object.__basicsize__
    if type(generator) is not random.Random or _random.Random.__basicsize__ < header + _BYTES:
        return 0
    address = id(generator) + header
    return address if ctypes.string_at(address, _BYTES) == _asked_python() else 0
