"""The rule `feature_importance_overweight`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy
from graphdbg.rules.catalogue import described
from graphdbg.rules.finding import Finding
from graphdbg.rules.rule import Needs, Rule, Select

if TYPE_CHECKING:
    from graphdbg.rules.observation import Observation


@described
class FeatureImportanceOverweight(Rule):
    """Looks at how often the trees of a model split by each feature, over all rounds up to this one."""

    id = "feature_importance_overweight"
    select = Select(include=[r"(^|/)feature_importance/weight$"])
    needs = Needs(tensors=True)

    def observe(self, state: None, now: Observation) -> tuple[Any, Finding | None]:
        weights = numpy.sort(now.value())[::-1]
        count = self.values["nfeatures"]
        total = weights.sum()
        # With so few features, they always have everything.
        if total == 0 or weights.size <= count:
            return state, None
        share = float(weights[:count].sum() / total)
        if share <= self.values["threshold"]:
            return state, None
        return state, self.finding(
            f"{count} of {weights.size} features make {100 * share:.3g} % of the splits", share=share
        )
