"""The versions of the libraries that the adapters support."""

from __future__ import annotations

from dataclasses import dataclass


class Unsupported(Exception):
    """This version of the library cannot be followed; the message says so."""


@dataclass(frozen=True)
class Versions:
    title: str
    # The first minor version and the last major one.
    first: tuple[int, int]
    last: int

    def __str__(self) -> str:
        major, minor = self.first
        return f"{major}.{minor} to {self.last}.x"

    def contain(self, version: str) -> bool:
        """`version` is the library's, such as "3.2.0"."""
        numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
        return self.first <= numbers < (self.last + 1,)

    def check(self, version: str) -> None:
        """Raises Unsupported."""
        if not self.contain(version):
            raise Unsupported(f"{self.title} {version} is not supported, only {self}")


XGBOOST = Versions("XGBoost", (2, 0), 3)
LIGHTGBM = Versions("LightGBM", (3, 3), 4)
