"""The Python client: controls and inspects jobs from another process or a notebook.

`graphdbg.connect()` returns a Client. It uses only the server's public HTTP interface.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from .api import Client as Client
    from .api import connect as connect
    from .graph import Graph as Graph
    from .jobs import Job as Job
    from .models import Advice as Advice
    from .models import ComparedPair as ComparedPair
    from .models import Comparison as Comparison
    from .models import Diagnosis as Diagnosis
    from .models import ExceptionInfo as ExceptionInfo
    from .models import Histogram as Histogram
    from .models import HistoryPoint as HistoryPoint
    from .models import Hit as Hit
    from .models import Incident as Incident
    from .models import JobInfo as JobInfo
    from .models import LiveRule as LiveRule
    from .models import Node as Node
    from .models import NodeDetail as NodeDetail
    from .models import Rank as Rank
    from .models import RankRecording as RankRecording
    from .models import SelectionPreview as SelectionPreview
    from .models import Source as Source
    from .models import Statistics as Statistics
    from .models import TensorInfo as TensorInfo
    from .models import Watchpoint as Watchpoint

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

# Imported on first use: most commands need the errors only.
_MODULES = {"Client": "api", "connect": "api", "Graph": "graph", "Job": "jobs"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES.get(name, 'models')}"), name)
