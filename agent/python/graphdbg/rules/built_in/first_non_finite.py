"""The rule `first_non_finite`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphdbg.rules.catalogue import described
from graphdbg.rules.finding import Finding
from graphdbg.rules.observation import is_finite
from graphdbg.rules.rule import Needs, Rule

if TYPE_CHECKING:
    from graphdbg.rules.observation import Observation


@described
class FirstNonFinite(Rule):
    """Finds the first tensor of the run with NaN or infinities, and whether the op has made them.

    The state is whether there was one: everything later may be a consequence.
    """

    id = "first_non_finite"
    needs = Needs(non_finite=True)
    series = ()

    def start(self, key: object) -> bool:
        return False

    def observe(self, found: bool, now: Observation) -> tuple[Any, Finding | None]:
        if found:
            return True, None
        statistics = now.statistics
        infinities = statistics.pos_inf_count + statistics.neg_inf_count
        message = f"{statistics.nan_count} NaN and {infinities} infinities of {statistics.count} values; {_origin(now)}"
        return True, self.finding(
            message,
            rank=now.rank,
            tensor=now.tensor,
            mode=now.mode,
            nan_count=statistics.nan_count,
            inf_count=infinities,
        )


def _origin(now: Observation) -> str:
    """Whether the op has made the values, by what was recorded of its inputs."""
    inputs = now.inputs()
    bad = [name for name, statistics in inputs.items() if statistics is not None and not is_finite(statistics)]
    if bad:
        return f"propagated from {bad[0]}"
    unknown = [name for name, statistics in inputs.items() if statistics is None]
    if unknown:
        return f"origin unknown: {unknown[0]} was not recorded"
    return "origin: the inputs were finite" if inputs else "origin: it has no inputs"
