"""When a rule is reported: once per episode."""

from __future__ import annotations


class Episodes:
    """Decides for one series which matching observations are reported, as the SQL of `findings_query` does.

    Args:
        hold: Observations in a row that must match.
        cool_down: Observations without a match before the rule is reported again.
    """

    def __init__(self, hold: int, cool_down: int) -> None:
        self._hold, self._cool_down = hold, cool_down
        self._count = 0
        self._in_a_row = 0
        self._last: int | None = None

    def reports(self, matches: bool) -> bool:
        """Whether the next observation is reported."""
        self._count += 1
        self._in_a_row = self._in_a_row + 1 if matches else 0
        if self._in_a_row < self._hold:
            return False
        before, self._last = self._last, self._count
        return before is None or self._count - before > self._cool_down
