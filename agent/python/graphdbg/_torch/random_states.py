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
_State = ctypes.c_char * _BYTES
# What `random.seed` and `random.getstate` refer to. Its memory is read, so it must live.
_python: Any = getattr(random, "_inst", None)


def of_python() -> bytes:
    """The position comes first."""
    memory = _memory_of_python()
    return _asked_python() if memory is None else memory.raw


def of_numpy() -> bytes | None:
    """The position comes last. None without NumPy, or if `numpy.random.seed` sets a generator of another kind."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not hasattr(numpy, "random"):
        return None
    generator = numpy.random.mtrand._rand._bit_generator
    if type(generator) is not numpy.random.MT19937:
        return None
    with generator.lock:
        return _memory_at(generator.ctypes.state_address).raw


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


@functools.lru_cache(maxsize=2)
def _memory_at(address: int) -> ctypes.Array[ctypes.c_char]:
    return _State.from_address(address)


@functools.cache
def _memory_of_python() -> ctypes.Array[ctypes.c_char] | None:
    """None if this Python lays the generator out in another way."""
    header = object.__basicsize__
    if type(_python) is not random.Random or _random.Random.__basicsize__ < header + _BYTES:
        return None
    memory = _memory_at(id(_python) + header)
    return memory if memory.raw == _asked_python() else None
