"""Reads the logs of a run in advance, which takes a second for each gigabyte or so."""

from __future__ import annotations

from collections.abc import Callable, Collection

from .record import RECORD_SIZE
from .run import Run

# Time for a byte of a graph, in that for a byte of a log.
_GRAPH_COST = 20


def load_logs(run: Run, progress: Callable[[int, int], None], graphs: Collection[int] = ()) -> None:
    """Verifies the logs of all ranks, which otherwise happens when they are first needed.

    Args:
        run: The run.
        progress: Receives how many bytes of how many have been read.
        graphs: The ranks whose graphs are decoded as well, which takes several times as long for each byte.
    """
    ranks = [part for rank in run.selected_ranks(None) for part in rank.parts]
    decoded = [part for number in graphs if number in run.ranks for part in run.rank(number).parts]
    total = sum(rank.log_bytes for rank in ranks) + sum(_GRAPH_COST * rank.graph_bytes for rank in decoded)
    done = 0

    def count(size: int) -> None:
        nonlocal done
        done += size
        progress(done, total)

    for rank in ranks:
        rank.load(lambda records: count(records * RECORD_SIZE))
    for rank in decoded:
        rank.load_nodes(lambda size: count(_GRAPH_COST * size))
