"""The rule `similar_across_runs`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from graphdbg.rules.catalogue import described
from graphdbg.rules.finding import Finding
from graphdbg.rules.observations import Range
from graphdbg.rules.run_rule import RunRule

if TYPE_CHECKING:
    from graphdbg.runs.run import Run


@described
class SimilarAcrossRuns(RunRule):
    """Compares each rank with the same rank of another run, as Run.diff does."""

    id = "similar_across_runs"

    def examine(self, run: Run, tensors: Collection[str] | None, limits: Range) -> Iterator[Finding]:
        for rank in limits.ranks or run.ranks:
            found = run.diff(
                self.values["other"],
                rank=rank,
                rtol=self.values["rtol"],
                atol=self.values["atol"],
                tensors=tensors,
                steps=(limits.first, limits.last),
            )
            first = found.first
            if first is not None:
                yield self.finding(
                    f"{first.measure} is {first.here:.6g}, and {first.there:.6g} in the other run",
                    rank=rank,
                    tensor=f"{first.node}:{first.slot}",
                    mode=first.mode,
                    step=first.step,
                    here=first.here,
                    there=first.there,
                )
