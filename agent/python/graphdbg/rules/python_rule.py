"""A rule that is a Python class, as one use of it configures it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from .definition import CompoundRule, ExpressionRule, RuleError
from .rule import Rule


@dataclass(frozen=True)
class PythonRule:
    """A use of a rule.

    Attributes:
        name: Its name in findings.
        rule: The rule with its parameters.
        select: Lists of names by the keys of SELECTION_LISTS; {} selects every tensor.
        hold: Observations in a row that must match.
        cool_down: Observations without a match before the rule is reported again.
    """

    name: str
    rule: Rule
    select: Mapping[str, list[str]]
    hold: int = 1
    cool_down: int = 10

    @staticmethod
    def of(rule: Rule | type[Rule]) -> PythonRule:
        """The rule with its own selection; a class with its defaults. Raises RuleError."""
        made = rule() if isinstance(rule, type) else rule
        return PythonRule(made.id, made, selection(made, None))

    @property
    def parts(self) -> tuple[PythonRule, ...]:
        """Itself, as the parts of other rules."""
        return (self,)

    def check(self) -> None:
        """Does nothing: a rule that exists is valid."""

    def json(self) -> dict[str, Any]:
        """The rule as the HTTP API takes it, whose server does not evaluate it."""
        return {
            "name": self.name,
            "class": self.rule.id,
            "select": dict(self.select),
            "series": list(self.rule.series),
            "for": self.hold,
            "cool_down": self.cool_down,
        }


# A rule of any kind, as one use of it configures it.
AnyRule: TypeAlias = ExpressionRule | CompoundRule | PythonRule


def selection(rule: Rule, given: Mapping[str, list[str]] | None) -> Mapping[str, list[str]]:
    """The given selection, or else the rule's own. Raises RuleError if there is neither."""
    if given is not None:
        return given
    if rule.select is None:
        raise RuleError(f"select: {rule.id} needs a selection of tensors, such as {{collections: [weights]}}")
    return rule.select.lists()
