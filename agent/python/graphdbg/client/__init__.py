"""The Python client: controls and inspects jobs from another process or a notebook.

`graphdbg.connect()` returns a Client. It uses only the server's public HTTP interface.
"""

from __future__ import annotations

from .api import Client, connect
from .errors import (
    AccessDeniedError,
    ApiError,
    CommandRefusedError,
    ConflictError,
    GraphdbgError,
    InvalidRequestError,
    NoServerError,
    NotFoundError,
    UnreachableError,
    ValueGoneError,
    WaitTimeoutError,
)
from .graph import Graph
from .jobs import Job
from .models import (
    Advice,
    ComparedPair,
    Comparison,
    Diagnosis,
    ExceptionInfo,
    Histogram,
    HistoryPoint,
    Hit,
    Incident,
    JobInfo,
    LiveRule,
    Node,
    NodeDetail,
    Rank,
    RankRecording,
    SelectionPreview,
    Source,
    Statistics,
    TensorInfo,
    Watchpoint,
)

__all__ = [
    "AccessDeniedError",
    "Advice",
    "ApiError",
    "Client",
    "CommandRefusedError",
    "ComparedPair",
    "Comparison",
    "ConflictError",
    "Diagnosis",
    "ExceptionInfo",
    "Graph",
    "GraphdbgError",
    "Histogram",
    "HistoryPoint",
    "Hit",
    "Incident",
    "InvalidRequestError",
    "Job",
    "JobInfo",
    "LiveRule",
    "NoServerError",
    "Node",
    "NodeDetail",
    "NotFoundError",
    "Rank",
    "RankRecording",
    "SelectionPreview",
    "Source",
    "Statistics",
    "TensorInfo",
    "UnreachableError",
    "ValueGoneError",
    "WaitTimeoutError",
    "Watchpoint",
    "connect",
]
