"""The rule `similar_across_runs`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, ClassVar

from graphdbg.rules.finding import Finding
from graphdbg.rules.observations import Range
from graphdbg.rules.param import Param
from graphdbg.rules.run_rule import RunRule

if TYPE_CHECKING:
    from graphdbg.runs.run import Run


class SimilarAcrossRuns(RunRule):
    """Compares each rank with the same rank of another run, as Run.diff does."""

    id = "similar_across_runs"
    title = "A tensor differs from that of another run"
    params: ClassVar = {
        "other": Param(str, help="directory or URL of the other run"),
        "rtol": Param(float, 1e-6, min=0, help="relative tolerance of statistics"),
        "atol": Param(float, 0, min=0, help="absolute tolerance of statistics"),
    }
    causes = (
        "The seeds, the data or their order differ.",
        "The versions of libraries, the number of threads, or the devices differ.",
        "Code that should have no effect has one: this is the first op with a difference.",
    )
    next = (
        "Compare the inputs of the op, which are still equal: `graphdbg diff RUN OTHER` lists the next differences.",
        "Repeat one run with the same seed: if it differs from itself, its ops are not deterministic.",
    )

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
