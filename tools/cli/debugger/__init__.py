"""One job as a debugger sees it: stops, frames, breakpoints, moves and expressions.

It knows neither terminals nor protocols of editors; `graphdbg dbg`, `graphdbg dap` and
`graphdbg mcp` are built on it. A stop is after a node: the node's outputs exist.

`attach` opens a live job, `open_recording` a recorded run, and `open_bundle` a captured hit.
"""

from __future__ import annotations

from .breakpoints import Breakpoint, Breakpoints
from .completion import Completion
from .errors import DebuggerError
from .frames import Frame
from .session import Session
from .stops import Event, RankState, Stop
from .targets import attach, find_job, open_bundle, open_recording
from .values import TensorView, Value

__all__ = [
    "Breakpoint",
    "Breakpoints",
    "Completion",
    "DebuggerError",
    "Event",
    "Frame",
    "RankState",
    "Session",
    "Stop",
    "TensorView",
    "Value",
    "attach",
    "find_job",
    "open_bundle",
    "open_recording",
]
