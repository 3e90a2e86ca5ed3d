"""`graphdbg rules --list`: the rules that can be used."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from .terminal import visible

if TYPE_CHECKING:
    from graphdbg.rules import Listed


def print_rules(rules: Sequence[Listed], as_json: bool) -> None:
    """Prints rules with their parameters and advice."""
    if as_json:
        print(json.dumps({"rules": [asdict(rule) for rule in rules]}))
        return
    for rule in rules:
        for line in _lines(rule):
            print(visible(line))


def _lines(rule: Listed) -> list[str]:
    marks = [] if rule.origin == "built-in" else [rule.origin]
    marks += ["needs a selection of tensors"] if rule.needs_selection else []
    lines = [rule.id + (f" ({', '.join(marks)})" if marks else "")]
    if rule.error:
        return [*lines, f"    cannot be used: {rule.error}"]
    lines.append(f"    {rule.title}")
    for param in rule.params:
        default = "" if param.default is None else f", default {json.dumps(param.default)}"
        default = ", required" if param.required else default
        lines.append(f"    {param.name}: {param.help + ': ' if param.help else ''}{param.accepts}{default}")
    lines += [f"    cause?  {cause}" for cause in rule.advice.causes[:1]]
    lines += [f"    try     {step}" for step in rule.advice.next[:1]]
    return lines
