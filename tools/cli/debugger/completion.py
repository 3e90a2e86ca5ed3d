"""Completion of names, scope by scope, as a shell completes folders."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Completion:
    """One way to go on.

    Attributes:
        text: What replaces the characters from `start` on.
        start: The index in the completed text at which the replacement begins.
        label: What a list shows; the last segment of a name.
        kind: "scope" (more may follow), "node", "statistic", "condition", "file" or "word".
        detail: A short explanation, such as the shape of an output; "" if there is none.
    """

    text: str
    start: int
    label: str
    kind: str
    detail: str = ""
