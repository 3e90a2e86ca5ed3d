"""The rule `nlp_sequence_ratio`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from graphdbg.rules.finding import Finding
from graphdbg.rules.param import Param
from graphdbg.rules.rule import Needs, Rule, Select

if TYPE_CHECKING:
    from graphdbg.rules.observation import Observation


class NlpSequenceRatio(Rule):
    """Counts tokens, such as padding, in each batch. Inputs that are not whole numbers are left out."""

    id = "nlp_sequence_ratio"
    title = "A token, such as padding, fills much of a batch"
    params: ClassVar = {
        "token_values": Param(str, "0", help="tokens, separated by commas"),
        "token_thresholds_percent": Param(str, "50", help="the percentage of the batch that each may take"),
    }
    select = Select(collections=["inputs"])
    needs = Needs(tensors=True)
    causes = (
        "Sequences of very different lengths are in one batch, so that most of it is padding.",
        "The tokenizer does not know the words: the token stands for unknown ones.",
    )
    next = (
        "Sort or bucket the sequences by length, or pack them.",
        "Look at the batch: `graphdbg show RUN --step N`, and at the text it was made from.",
    )

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
