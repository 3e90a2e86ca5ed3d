"""Recorded runs: reads what a job recorded, with the job gone or still running.

`graphdbg.open_run` opens one. `RECORD` reads a segment of a log without anything else:
`numpy.memmap(file, RECORD, "r", offset=64)`.
"""

from __future__ import annotations

from .packages import MissingPackageError, load

load("numpy", "reading a recorded run")

from .call_differences import CallDifference  # noqa: E402
from .collection import Collection  # noqa: E402
from .divergence import ComparedInput, Difference, Divergence  # noqa: E402
from .errors import Damage, DataLossError, NotRecorded, RunNotFoundError, UnknownTensor  # noqa: E402
from .graph import Graph  # noqa: E402
from .last_ops import LastOp  # noqa: E402
from .opening import open_run  # noqa: E402
from .record import CHANGE, HIT, MARK, RECORD, SAVED, UNITS  # noqa: E402
from .run import Run  # noqa: E402
from .spark import spark_views  # noqa: E402
from .steps import Step  # noqa: E402
from .tensor import Tensor  # noqa: E402
from .user_changes import UserChange  # noqa: E402

__all__ = [
    "CHANGE",
    "HIT",
    "MARK",
    "RECORD",
    "SAVED",
    "UNITS",
    "CallDifference",
    "Collection",
    "ComparedInput",
    "Damage",
    "DataLossError",
    "Difference",
    "Divergence",
    "Graph",
    "LastOp",
    "MissingPackageError",
    "NotRecorded",
    "Run",
    "RunNotFoundError",
    "Step",
    "Tensor",
    "UnknownTensor",
    "UserChange",
    "open_run",
    "spark_views",
]
