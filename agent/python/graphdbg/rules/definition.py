"""A rule, as the configuration describes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphdbg.client.errors import USAGE, GraphdbgError

from .expression import ExpressionError, Part, names_of, parse
from .measures import NAMES, STEP_MEASURES, unknown_name

SERIES_PARTS = ("rank", "tensor", "mode")
AGGREGATES = ("min", "max", "sum", "mean", "count")
SELECTION_LISTS = ("collections", "include", "exclude", "op_types", "nodes", "scopes", "patterns", "categories")
_REDUCTION = re.compile(r"\s*(\w+)\s*\(\s*(\w+)\s*\)\s*", re.ASCII)


class RuleError(GraphdbgError):
    """A rule is invalid, or selects nothing that was recorded. The message names the rule's key."""

    code = "invalid_rule"

    def __init__(self, message: str) -> None:
        super().__init__(message, USAGE)


@dataclass(frozen=True)
class Reduction:
    """A value over the observations of a step, such as max(l2)."""

    aggregate: str
    measure: str


@dataclass(frozen=True)
class ExpressionRule:
    """A rule over recorded series.

    Attributes:
        name: Its name in findings.
        when: The expression that is true where the rule matches.
        select: Lists of names by the keys of SELECTION_LISTS; {} selects every tensor.
        series: What distinguishes two series: some of "rank", "tensor", "mode".
        reduce: Values over the observations of a step, such as "max(l2)", by name.
        hold: Observations in a row for which `when` must be true.
        cool_down: Observations without a match before the rule is reported again.
        base: The id of the built-in rule that it is made from; "" if there is none.
    """

    name: str
    when: str
    select: Mapping[str, list[str]] = field(default_factory=dict)
    series: tuple[str, ...] = SERIES_PARTS
    reduce: Mapping[str, str] = field(default_factory=dict)
    hold: int = 1
    cool_down: int = 10
    base: str = field(default="", compare=False)

    def expression(self) -> Part:
        """The parsed expression.

        Raises:
            RuleError: The expression, or what it needs, is invalid.
        """
        names = (*self.reductions(), "step") if self.reduce else NAMES
        try:
            return parse(self.when, names)
        except ExpressionError as error:
            raise RuleError(f"when: {error}") from None

    def reductions(self) -> dict[str, Reduction]:
        """The values of `reduce` by name. Raises RuleError."""
        found: dict[str, Reduction] = {}
        for name, text in self.reduce.items():
            if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name == "step":
                raise RuleError(f"reduce.{name}: '{name}' is not a valid name")
            # Columns of SQL do not distinguish upper and lower case.
            if name.lower() in map(str.lower, found):
                raise RuleError(f"reduce.{name}: another name differs only in upper and lower case")
            match = _REDUCTION.fullmatch(text)
            if not match or match[1] not in AGGREGATES:
                raise RuleError(
                    f"reduce.{name}: expected min, max, sum, mean or count of a statistic, such as max(l2), "
                    f"not '{text}'"
                )
            if match[2] not in NAMES or match[2] == "step_seconds":
                raise RuleError(f"reduce.{name}: {unknown_name(match[2], NAMES)}")
            found[name] = Reduction(match[1], match[2])
        return found

    @property
    def observes_steps(self) -> bool:
        """Whether its observations are the steps, and not the tensors, of a rank."""
        only_steps = all(name in STEP_MEASURES for name in names_of(self.expression()))
        return not self.reduce and only_steps and "tensor" not in self.series and "rank" in self.series

    def check(self) -> None:
        """Raises RuleError if it is invalid."""
        used = names_of(self.expression())
        if self.reduce or self.observes_steps:
            return
        if "step_seconds" in used:
            raise RuleError(
                "when: step_seconds describes steps: it cannot be combined with statistics of tensors, and needs the "
                "series [rank]"
            )
        if not {"tensor", "rank"} <= set(self.series):
            raise RuleError("series: a series of several tensors or ranks needs `reduce`")

    def json(self) -> dict[str, Any]:
        """The rule as the HTTP API takes it."""
        base = {"base": self.base} if self.base else {}
        return {
            **base,
            "name": self.name,
            "when": self.when,
            "select": dict(self.select),
            "series": list(self.series),
            "reduce": dict(self.reduce),
            "for": self.hold,
            "cool_down": self.cool_down,
        }

    @property
    def parts(self) -> tuple[ExpressionRule, ...]:
        """The expressions that it consists of: itself."""
        return (self,)

    def describe(self, values: Mapping[str, float | None]) -> str:
        """The message of a finding with these values."""
        found = ", ".join(
            f"{name} = {'unknown' if value is None else f'{value:.6g}'}" for name, value in sorted(values.items())
        )
        held = f", for {self.hold} observations in a row" if self.hold > 1 else ""
        return f"{self.when}{': ' if found else ''}{found}{held}"


@dataclass(frozen=True)
class CompoundRule:
    """A rule that matches where any of its parts does.

    Attributes:
        name: Its name in findings, which all parts have, too.
        parts: At least one expression.
    """

    name: str
    parts: tuple[ExpressionRule, ...]

    def check(self) -> None:
        """Raises RuleError if a part is invalid."""
        for part in self.parts:
            part.check()
