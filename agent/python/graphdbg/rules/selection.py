"""The tensors that a rule selects."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from graphdbg._config._validate import nearest
from graphdbg.runs.schema import CATEGORIES

from .definition import ExpressionRule, RuleError
from .python_rule import PythonRule

if TYPE_CHECKING:
    from graphdbg.runs.graph import RecordedNode
    from graphdbg.runs.run import Run

# A rule with a selection.
Selecting = ExpressionRule | PythonRule


def check_collections(rule: Selecting, known: Sequence[str]) -> None:
    """Raises RuleError if the rule selects a collection that the run does not have."""
    for name in rule.select.get("collections", ()):
        if name not in known:
            raise RuleError(f"{rule.name}: the run has no collection '{name}'{nearest(name, list(known))}")


def selected_tensors(run: Run, rule: Selecting) -> list[str] | None:
    """The names of the selected tensors, NODE:SLOT; None if every tensor is selected.

    Raises:
        RuleError: A regular expression or a category is invalid.
    """
    if not any(rule.select.values()):
        return None
    matcher = _Matcher(rule)
    names: dict[str, None] = {}
    for rank in run.selected_ranks(None):
        for node in rank.nodes.nodes.values():
            if matcher.selects(node):
                slots = {0} | {int(output["slot"]) for output in node.values["outputs"]}
                names.update(dict.fromkeys(f"{node.name}:{slot}" for slot in sorted(slots)))
    collections = run.collections() if rule.select.get("collections") else {}
    for each in rule.select.get("collections", ()):
        members = collections[each].tensors
        names.update(dict.fromkeys(name for name in members if not matcher.excludes(name.rpartition(":")[0])))
    return list(names)


class _Matcher:
    """Selects nodes by everything but collections."""

    def __init__(self, rule: Selecting) -> None:
        select = rule.select
        self._select: Mapping[str, list[str]] = select
        self._include = _compiled(rule, "include")
        self._exclude = _compiled(rule, "exclude")
        self._patterns = [re.compile(_regex(pattern), re.DOTALL) for pattern in select.get("patterns", ())]
        self._all = not any(lists for key, lists in select.items() if key != "exclude")
        for category in select.get("categories", ()):
            if category not in CATEGORIES:
                raise RuleError(
                    f"{rule.name}: select.categories: '{category}' is unknown{nearest(category, list(CATEGORIES))}"
                )

    def selects(self, node: RecordedNode) -> bool:
        return self._includes(node) and not self.excludes(node.name)

    def excludes(self, name: str) -> bool:
        return any(pattern.search(name) for pattern in self._exclude)

    def _includes(self, node: RecordedNode) -> bool:
        select, name = self._select, node.name
        return (
            self._all
            or any(pattern.search(name) for pattern in self._include)
            or node.op_type in select.get("op_types", ())
            or name in select.get("nodes", ())
            or any(name.startswith(f"{scope}/") for scope in select.get("scopes", ()))
            or any(pattern.fullmatch(name) for pattern in self._patterns)
            or node.category in select.get("categories", ())
        )


def _compiled(rule: Selecting, key: str) -> list[re.Pattern[str]]:
    found = []
    for text in rule.select.get(key, ()):
        try:
            found.append(re.compile(text))
        except re.error as error:
            raise RuleError(f"{rule.name}: select.{key}: '{text}' is no regular expression: {error}") from None
    return found


def _regex(pattern: str) -> str:
    """A pattern in which * and ? match no slash, and ** matches everything."""
    words = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(words.get(part, re.escape(part)) for part in re.split(r"(\*\*|\*|\?)", pattern))
