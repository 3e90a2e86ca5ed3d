"""What log points print."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

from graphdbg.client.models import Hit, Statistics

_FIELD = re.compile(r"\{([a-z0-9_]+)\}")
# What is known of each execution; all else is measured.
_PLACES = frozenset({"node", "step", "rank"})


def needs_values(message: str) -> bool:
    """Whether a message has a field for what is measured of a tensor, such as {abs_max}."""
    return not _PLACES.issuperset(_FIELD.findall(message))


def message_of(message: str, fields: Mapping[str, object]) -> str:
    """A message with its fields filled in; "?" for what is not known."""
    return _FIELD.sub(lambda match: _text(fields.get(match[1])), message)


def fields_of(hit: Hit) -> dict[str, object]:
    """What a message about a hit can name."""
    known = {"node": hit.node, "step": hit.step, "rank": hit.rank, "name": hit.name, "slot": hit.slot}
    return {**measured(hit.statistics), **hit.actual, **known}


def measured(statistics: Statistics | None) -> dict[str, object]:
    """Statistics by their names."""
    return {} if statistics is None else {**dataclasses.asdict(statistics), **statistics.quantiles}


def _text(value: object) -> str:
    return "?" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
