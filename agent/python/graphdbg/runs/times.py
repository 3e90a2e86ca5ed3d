"""Times in recorded files."""

from __future__ import annotations

from datetime import datetime, timezone


def utc(unix_ns: int) -> datetime:
    """The time in UTC; 1970 if the number is none that a date has."""
    try:
        return datetime.fromtimestamp(unix_ns / 1e9, timezone.utc)
    except (OverflowError, OSError, ValueError):
        return datetime.fromtimestamp(0, timezone.utc)
