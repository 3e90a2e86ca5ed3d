"""The rule `first_non_finite`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from graphdbg.rules.catalogue import described
from graphdbg.rules.finding import Finding
from graphdbg.rules.observation import is_finite
from graphdbg.rules.rule import Needs, Rule

if TYPE_CHECKING:
    from graphdbg.rules.observation import Observation


class _State(NamedTuple):
    """What is known of the first bad tensor.

    Attributes:
        is_found: It was reported: everything later may be a consequence.
        received: A finding about values that came through a collective. Another rank may have sent them.
        collective: Its name.
    """

    is_found: bool = False
    received: Finding | None = None
    collective: str = ""


@described
class FirstNonFinite(Rule):
    """Finds the first tensor of the run with NaN or infinities, and whether the op has made them.

    Ranks execute different numbers of ops, so that the place in the step says little about which of them was first.
    Values that a collective has brought come from a rank that had others in the same step.
    """

    id = "first_non_finite"
    needs = Needs(non_finite=True)
    series = ()

    def start(self, key: object) -> _State:
        return _State()

    def observe(self, state: _State, now: Observation) -> tuple[Any, Finding | None]:
        if state.is_found:
            return state, None
        received = state.received
        if received is not None and now.step != received.step:
            return _State(is_found=True), received
        if received is not None and now.rank == received.rank:
            return state, None
        collective = now.collective()
        if collective is None:
            return _State(is_found=True), self._found(now, _sent(received, state.collective))
        return (state if received is not None else _State(False, self._found(now), collective)), None

    def finish(self, state: _State) -> Finding | None:
        return None if state.is_found else state.received

    def _found(self, now: Observation, more: str = "") -> Finding:
        statistics = now.statistics
        infinities = statistics.pos_inf_count + statistics.neg_inf_count
        values = f"{statistics.nan_count} NaN and {infinities} infinities of {statistics.count} values"
        return self.finding(
            f"{values}; {_origin(now)}{more}",
            rank=now.rank,
            tensor=now.tensor,
            mode=now.mode,
            step=now.step,
            nan_count=statistics.nan_count,
            inf_count=infinities,
        )


def _sent(received: Finding | None, collective: str) -> str:
    return "" if received is None else f"; sent to rank {received.rank} through {collective}"


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
