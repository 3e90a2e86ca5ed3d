"""Evaluates rules over the log of a recorded run, with a server of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from graphdbg.rules import ExpressionRule, Finding, RuleError, RuleResult

from .client import ApiError, Client, Json
from .errors import CliError
from .served_run import served_run

_POLL_SECONDS = 0.1
# The server takes no more in one check.
_RULES_AT_ONCE = 64

# Receives how many steps of how many have been evaluated.
Progress = Callable[[int, int], None]


def run_rules(
    directory: Path,
    rules: Sequence[ExpressionRule],
    ranks: Sequence[int] | None,
    steps: tuple[int | None, int | None],
    progress: Progress,
) -> list[RuleResult]:
    """Evaluates rules, in their order.

    Args:
        directory: That of the run.
        rules: The rules.
        ranks: Only these; None: all.
        steps: First and last, both inclusive and either None.
        progress: Called now and then.

    Raises:
        RuleError: The server refuses a rule.
        CliError: There is no run.
    """
    limits: Json = {"ranks": list(ranks)} if ranks else {}
    limits["steps"] = {name: step for name, step in zip(("from", "to"), steps, strict=True) if step is not None}
    results: list[RuleResult] = []
    with served_run(directory) as (client, run):
        for first in range(0, len(rules), _RULES_AT_ONCE):
            part = rules[first : first + _RULES_AT_ONCE]
            results += _results(part, _check(client, f"{run}/checks", part, limits, progress))
    return results


def _check(client: Client, path: str, rules: Sequence[ExpressionRule], limits: Json, progress: Progress) -> Json:
    # Several rules may have the same name, so their numbers are sent instead.
    body = {"rules": [rule.json() | {"name": str(number)} for number, rule in enumerate(rules)], **limits}
    try:
        place = f"{path}/{client.post(path, body)['check_id']}"
    except ApiError as error:
        raise RuleError(_with_name(error, rules)) from None
    while (check := client.get(place))["state"] == "running":
        progress(check["done"], check["total"])
        time.sleep(_POLL_SECONDS)
    client.delete(place)
    if check["state"] != "done":
        raise CliError(f"the rules cannot be evaluated: {check['error']}")
    return check


def _results(rules: Sequence[ExpressionRule], check: Json) -> Iterator[RuleResult]:
    for number, (rule, report) in enumerate(zip(rules, check["rules"], strict=True)):
        found = [
            Finding.from_json(entry | {"rule": rule.name})
            for entry in check["findings"]
            if entry["rule"] == str(number)
        ]
        yield RuleResult(rule, found, report["finding_count"], report["observations"], report["unknown"])


def _with_name(error: ApiError, rules: Sequence[ExpressionRule]) -> str:
    """The error with the name of the rule whose field it is."""
    number = error.field.removeprefix("rules[").partition("]")[0]
    if not number.isdigit() or int(number) >= len(rules):
        return str(error)
    return f"{rules[int(number)].name}: {error}"
