"""Parameters of rules that are Python classes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

Value = int | float | bool | str

_KINDS: dict[type, str] = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


@dataclass(frozen=True)
class Param:
    """A parameter of a rule.

    Attributes:
        type: int, float, bool or str.
        default: Its value if none is given; None: it must be given, unless it is optional.
        min, max: Limits of a number, both inclusive; None: no limit.
        unit: The unit of a number, such as "%" or "s".
        help: What it means, for `graphdbg rules --list`.
        optional: It may be left out although it has no default; its value is None then.

    Raises:
        TypeError: The type is not one of these.
        ValueError: The default is not a valid value.
    """

    type: type[Value]
    default: Value | None = None
    min: float | None = None
    max: float | None = None
    unit: str = ""
    help: str = ""
    optional: bool = False

    def __post_init__(self) -> None:
        if self.type not in _KINDS:
            raise TypeError(f"a parameter's type is int, float, bool or str, not {self.type!r}")
        if self.type not in (int, float) and (self.min is not None or self.max is not None):
            raise ValueError("only numbers have limits")
        if self.default is not None:
            object.__setattr__(self, "default", self.read(self.default))

    @property
    def is_required(self) -> bool:
        """Whether it must be given."""
        return self.default is None and not self.optional

    def read(self, value: Any) -> Value:
        """The value as the parameter's type.

        Raises:
            ValueError: It has another type, or is out of the limits.
        """
        accepted = (int, float) if self.type is float else (self.type,)
        is_valid = isinstance(value, accepted) and isinstance(value, bool) == (self.type is bool)
        if is_valid and isinstance(value, float):
            is_valid = math.isfinite(value)
        if is_valid and isinstance(value, (int, float)):
            is_valid = (self.min is None or value >= self.min) and (self.max is None or value <= self.max)
        if not is_valid:
            raise ValueError(f"expected {self.describe()}, not {value!r}")
        read: Value = self.type(value)
        return read

    def describe(self) -> str:
        """The values that it accepts, such as "a number from 0 to 100 (%)"."""
        text = _KINDS[self.type]
        if self.min is not None and self.max is not None:
            text += f" from {self.min:g} to {self.max:g}"
        elif self.min is not None:
            text += f" of at least {self.min:g}"
        elif self.max is not None:
            text += f" of at most {self.max:g}"
        return f"{text} ({self.unit})" if self.unit else text
