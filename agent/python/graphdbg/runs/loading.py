"""Reads the logs of a run in advance, which takes a second for each gigabyte or so."""

from __future__ import annotations

from collections.abc import Callable

from .record import RECORD_SIZE
from .run import Run


def load_logs(run: Run, progress: Callable[[int, int], None]) -> None:
    """Verifies the logs of all ranks, which otherwise happens when they are first needed.

    Args:
        run: The run.
        progress: Receives how many bytes of how many have been read.
    """
    ranks = [part for rank in run.selected_ranks(None) for part in rank.parts]
    total = sum(rank.log_bytes for rank in ranks)
    done = 0

    def count(records: int) -> None:
        nonlocal done
        done += records * RECORD_SIZE
        progress(done, total)

    for rank in ranks:
        rank.load(count)
