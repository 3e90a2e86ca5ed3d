"""The C library's memory, where functions run without donating their arguments."""

from __future__ import annotations

import ctypes
import os

# Options of glibc's mallopt.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
# How much freed memory a heap keeps, and how much more than needed it fetches; and its usual settings.
_KEPT, _MORE, _LARGEST = 512 << 20, 64 << 20, 32 << 20
_USUAL = ((_TRIM_THRESHOLD, 128 << 10), (_TOP_PAD, 0), (_MMAP_THRESHOLD, 128 << 10))
_REUSING = ((_TRIM_THRESHOLD, _KEPT), (_TOP_PAD, _MORE), (_MMAP_THRESHOLD, _LARGEST))


def reuse_freed_memory(reuses: bool) -> None:
    """Has freed memory kept for what is allocated next, which saves a quarter of a short step.

    Otherwise it goes back to the system, which clears each page before it is used again. Settings that the user has
    made are left alone, and so are other allocators.
    """
    if any(name.startswith(("MALLOC_", "GLIBC_TUNABLES")) for name in os.environ):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    for option, value in _REUSING if reuses else _USUAL:
        if mallopt is not None:
            mallopt(option, value)
