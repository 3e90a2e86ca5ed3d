"""What rules find."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from graphdbg.client.models import Advice

if TYPE_CHECKING:
    from .python_rule import AnyRule

# More findings of a rule are only counted.
MAX_FINDINGS = 1_000


@dataclass(frozen=True)
class Finding:
    """A place at which a rule began to match.

    Attributes:
        rule: The name of the rule.
        rank: None if the series comprises several, unless it is one of them that differs.
        tensor: NODE:SLOT; None if the series comprises several, or is about steps.
        mode: "train", "eval", "predict" or "unknown"; None if the series comprises several.
        step: The step.
        values: The values that the expression used, by name; None: unknown.
        message: The expression and these values.
        advice: Likely causes, and what to look at next; None if there is none. Equal findings may differ in it.
    """

    rule: str
    rank: int | None
    tensor: str | None
    mode: str | None
    step: int
    values: Mapping[str, float | None]
    message: str
    advice: Advice | None = field(default=None, compare=False, repr=False)

    @staticmethod
    def from_json(entry: Mapping[str, Any]) -> Finding:
        """A finding as the HTTP API returns it."""
        values = {name: None if value == "NaN" else float(value) for name, value in entry["values"].items()}
        keys = ("rule", "rank", "tensor", "mode", "step")
        advice = Advice.from_json(entry["advice"]) if entry.get("advice") else None
        return Finding(**{key: entry[key] for key in keys}, values=values, message=entry["message"], advice=advice)

    def json(self) -> dict[str, Any]:
        """The finding for programs. JSON has no infinities, which become texts."""
        return asdict(self) | {"values": {name: _plain(value) for name, value in self.values.items()}}


def _plain(value: float | None) -> float | str | None:
    if value is None or abs(value) != float("inf"):
        return value
    return "Infinity" if value > 0 else "-Infinity"


@dataclass(frozen=True)
class RuleResult:
    """What became of one rule.

    Attributes:
        rule: The rule.
        findings: In order of steps, at most 1,000.
        count: How many there are.
        observations: How many there were; None if they were not counted, because there are findings.
        unknown: Observations that do not match because what they need was not recorded; None as above.
        error: Why the rule was switched off: the exception that a rule in Python has raised. "" if it was not.
        missing: What a rule in Python needs and was not recorded; "" if everything was.
    """

    rule: AnyRule
    findings: list[Finding]
    count: int
    observations: int | None
    unknown: int | None
    error: str = ""
    missing: str = ""
