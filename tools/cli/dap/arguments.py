"""Reads the arguments of a request, and names the one that is wrong."""

from __future__ import annotations

from typing import Any

from .errors import RequestError
from .wire import Json


def text(arguments: Json, name: str, default: str | None = None) -> str:
    """A text, which must be there unless there is a default."""
    value = arguments.get(name, default)
    if not isinstance(value, str):
        raise RequestError(f"{name} must be a text" if name in arguments else f"{name} is missing")
    return value


def optional_text(arguments: Json, name: str) -> str | None:
    """A text; None where it is absent, null or empty."""
    value = arguments.get(name)
    if value is not None and not isinstance(value, str):
        raise RequestError(f"{name} must be a text")
    return value or None


def flag(arguments: Json, name: str, default: bool = False) -> bool:
    value = arguments.get(name)
    if value is not None and not isinstance(value, bool):
        raise RequestError(f"{name} must be true or false")
    return default if value is None else value


def number(arguments: Json, name: str, default: int | None = None, *, low: int = 0) -> int:
    """A whole number of at least `low`, which must be there unless there is a default."""
    value = arguments.get(name)
    if value is None and default is not None:
        return default
    if type(value) is not int or value < low:
        raise RequestError(f"{name} must be a whole number of at least {low}")
    return value


def texts(arguments: Json, name: str) -> list[str]:
    """A list of texts; empty where it is absent. One text counts as a list."""
    value = arguments.get(name)
    values = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise RequestError(f"{name} must be a list of texts")
    return values


def objects(arguments: Json, name: str) -> list[Json]:
    """A list of objects; empty where it is absent."""
    value: Any = arguments.get(name) or []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise RequestError(f"{name} must be a list of objects")
    return value
