"""Expands `NAME=VALUE` entries in order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_REFERENCE = re.compile(r"\$(?:\$|([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")


def expand(entries: Iterable[str], outer: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Expands references to variables.

    Args:
        entries: `NAME=VALUE`. Each value sees the entries before it.
        outer: The environment around them.

    Returns:
        The variables, and the names that were referred to without being set. As in a
        shell, these are expanded to nothing.
    """
    variables: dict[str, str] = {}
    unset: list[str] = []

    def replace(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if name is None:
            return "$"
        value = variables.get(name, outer.get(name))
        if value is None:
            unset.append(name)
        return value or ""

    for entry in entries:
        name, _, text = entry.partition("=")
        variables[name] = _REFERENCE.sub(replace, text)
    return variables, unset
