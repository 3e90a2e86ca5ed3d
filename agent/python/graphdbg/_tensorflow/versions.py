"""The versions of TensorFlow that the adapter supports."""

from __future__ import annotations

_FIRST, _LAST = (2, 16), (2, 21)
SUPPORTED = "2.16 to 2.21"


def minor_of(version: str) -> str:
    """The minor version, such as "2.21"."""
    return ".".join(version.split(".")[:2])


def is_supported(version: str) -> bool:
    """`version` is TensorFlow's, such as "2.21.0"."""
    minor = tuple(int(part) for part in version.split(".")[:2])
    return _FIRST <= minor <= _LAST
