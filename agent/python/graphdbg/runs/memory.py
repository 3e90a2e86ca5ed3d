"""Memory for large arrays that are filled at once."""

from __future__ import annotations

import mmap
from contextlib import suppress
from math import prod

import numpy

from .record import Array

# Since Linux 5.14; what refuses it allocates each page when it is first used.
_MADV_POPULATE_WRITE = 23


def memory_for(shape: tuple[int, ...], kind: str) -> Array:
    """An array of zeros, all of whose memory is there.

    In pages of the usual size, allocated together. Large ones, which NumPy requests, take several times as long on
    virtual machines that give free memory back to their host.
    """
    size = prod(shape) * numpy.dtype(kind).itemsize
    if not size or not hasattr(mmap, "MADV_NOHUGEPAGE"):
        return numpy.zeros(shape, kind)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        memory.madvise(_MADV_POPULATE_WRITE)
    return numpy.frombuffer(memory, kind).reshape(shape)
