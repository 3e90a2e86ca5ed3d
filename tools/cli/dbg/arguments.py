"""Parts of a line that the user has typed."""

from __future__ import annotations

import re

from ..debugger import DebuggerError

_CONDITION = re.compile(r"(?:^|\s)if\s+(?P<condition>.+)$")
_NODES = re.compile(r"\s+on\s+(?P<nodes>\S+)\s*$")


def split_if(text: str) -> tuple[str, str | None]:
    """What precedes "if CONDITION", and the condition."""
    match = _CONDITION.search(text)
    return (text.strip(), None) if match is None else (text[: match.start()].strip(), match["condition"].strip())


def split_on(text: str) -> tuple[str, str | None]:
    """What precedes "on NODES", and the nodes."""
    match = _NODES.search(text)
    return (text.strip(), None) if match is None else (text[: match.start()].strip(), match["nodes"])


def number(text: str, default: int, what: str = "a number") -> int:
    """A whole number, or a default for an empty text."""
    if not text.strip():
        return default
    try:
        return int(text.strip().lstrip("#"))
    except ValueError:
        raise DebuggerError(f"{text.strip()} is not {what}") from None


def count(text: str) -> int:
    """How often: at least once."""
    found = number(text, 1)
    if found < 1:
        raise DebuggerError(f"{text.strip()} is less than 1")
    return found


def numbers(text: str) -> list[int]:
    """Numbers and ranges, such as "1 3-5"."""
    found: list[int] = []
    for word in text.replace(",", " ").split():
        first, dash, last = word.partition("-")
        begin = number(first, 0)
        found += range(begin, number(last, begin) + 1) if dash else [begin]
    return found


def needed(text: str, what: str) -> str:
    """A text that must not be empty."""
    if not text.strip():
        raise DebuggerError(f"what is missing: {what}")
    return text.strip()
