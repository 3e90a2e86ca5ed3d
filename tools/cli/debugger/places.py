"""FILE:LINE, as users write it."""

from __future__ import annotations

import re

# Slots of tensors also follow a colon, so that a file must have an extension.
_LINE = re.compile(r"(.*\.[A-Za-z0-9_]+):([1-9][0-9]*)")


def is_line(text: str) -> bool:
    """Whether a text is FILE:LINE."""
    return _LINE.fullmatch(text) is not None


def line_of(text: str) -> tuple[str, int]:
    """File and line of FILE:LINE. ValueError if it is none."""
    match = _LINE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text} is not FILE:LINE")
    return match[1], int(match[2])
