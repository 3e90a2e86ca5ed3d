"""The C library's memory, where functions run without donating their arguments."""

from __future__ import annotations

import ctypes
import functools
import os

# glibc's options for mallopt with their values: how much freed memory a heap keeps, how much extra it requests each
# time, and the largest block it serves. The same as in agent/core/heap.h, which applies only once values are kept.
_OPTIONS = {-1: 512 << 20, -2: 64 << 20, -3: 32 << 20}


@functools.cache
def keep_freed_memory() -> None:
    """Has freed memory kept for what is allocated next, which saves a quarter of a short step.

    Otherwise it goes back to the system, which clears each page before it is used again. Settings that the user has
    made are left alone, and so are other allocators.
    """
    if any(name.startswith(("MALLOC_", "GLIBC_TUNABLES")) for name in os.environ):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for option, value in _OPTIONS.items():
            mallopt(option, value)
