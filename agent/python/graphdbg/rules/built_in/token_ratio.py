"""The rule `nlp_sequence_ratio`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphdbg.rules.catalogue import described
from graphdbg.rules.finding import Finding
from graphdbg.rules.rule import Needs, Rule, Select

if TYPE_CHECKING:
    from graphdbg.rules.observation import Observation


@described
class NlpSequenceRatio(Rule):
    """Counts tokens, such as padding, in each batch. Inputs that are not whole numbers are left out."""

    id = "nlp_sequence_ratio"
    select = Select(collections=["inputs"])
    needs = Needs(tensors=True)

    def check(self) -> None:
        self._limits()

    def observe(self, state: Any, now: Observation) -> tuple[Any, Finding | None]:
        tokens = now.value()
        if tokens.dtype.kind not in "iu" or tokens.size == 0:
            return state, None
        for token, limit in self._limits():
            percentage = 100 * float((tokens == token).mean())
            if percentage > limit:
                message = f"token {token} takes {percentage:.4g} % of the batch, more than {limit:g} %"
                return state, self.finding(message, token=token, percentage=percentage)
        return state, None

    def _limits(self) -> list[tuple[int, float]]:
        """The tokens with their limits in percent. Raises ValueError."""
        tokens = str(self.values["token_values"]).split(",")
        limits = str(self.values["token_thresholds_percent"]).split(",")
        if len(tokens) != len(limits):
            raise ValueError(f"{len(tokens)} token_values, but {len(limits)} token_thresholds_percent")
        try:
            return [(int(token), float(limit)) for token, limit in zip(tokens, limits, strict=True)]
        except ValueError:
            raise ValueError("token_values and token_thresholds_percent: expected numbers with commas") from None
