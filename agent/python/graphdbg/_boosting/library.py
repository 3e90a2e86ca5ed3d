"""What the common modules ask a library about its boosters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from .arrays import Array
from .objectives import Formula
from .trees import Importance, Tree


class NotCaptured(Exception):
    """A quantity is not available for this booster or its data. The message gives the reason."""


@dataclass(frozen=True)
class Objective:
    """A built-in objective. `formula` is None, for a reason, if its gradients do not follow from the margins."""

    name: str
    formula: Formula | None = None
    parameters: Mapping[str, float] = field(default_factory=dict)
    reason: str = "no formula is known for this objective"


class Library(Protocol):
    """A library's view of its boosters. Methods raise NotCaptured, or whatever the library raises."""

    # As GRAPHDBG_FRAMEWORK names it, and for messages.
    module: str
    title: str
    version: str

    def objective(self, booster: Any) -> Objective: ...

    def features(self, booster: Any) -> Sequence[str]:
        """The names of all features."""

    def rounds(self, booster: Any) -> int:
        """How many rounds the booster has been trained for."""

    def first_margins(self, booster: Any, data: Any, like: Array) -> Array | None:
        """The margins before the first round, after which this is asked; None: they are not known.

        `like` is of their shape and type.
        """

    def margins(self, booster: Any, data: Any) -> Array:
        """The margins of the training data, in an array that nobody else changes."""

    def labels(self, booster: Any, data: Any) -> tuple[Array, Array | None]:
        """The labels and, if there are any, the weights of the training data's rows."""

    def newest_trees(self, booster: Any) -> list[Tree]:
        """Those of the last round, in order."""

    def importance(self, booster: Any) -> Importance:
        """That of all rounds."""
