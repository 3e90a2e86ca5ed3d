"""What the workers of compare.py share: slices of a training, timed on demand.

A line "STEPS" on standard input has them trained and answered with their CPU time in milliseconds; at the end of the
input the worker prints a digest of what it has trained.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable, Iterable


def serve(step: Callable[[], object], settle: Callable[[], object], results: Callable[[], Iterable[bytes]]) -> None:
    """Trains until the input ends.

    Args:
        step: Trains one step.
        settle: Waits until the steps are done, where the framework computes them behind the program's back.
        results: The bytes of what was trained.
    """
    for line in sys.stdin:
        begin = time.process_time()
        for _ in range(int(line)):
            step()
        settle()
        print("cpu", (time.process_time() - begin) * 1e3, flush=True)
    digest = hashlib.sha256()
    for part in results():
        digest.update(part)
    print("digest", digest.hexdigest()[:16], flush=True)
