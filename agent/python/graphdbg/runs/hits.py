"""Hits of a run, as the objects that a live job's hits are."""

from __future__ import annotations

import time

from graphdbg.client.models import Hit, Source, Statistics

from .protobuf import Values
from .rank import Rank
from .record import dtype_name
from .schema import ORIGINS


def hit_of(number: int, values: Values, rank: Rank) -> Hit:
    """The hit of a message Hit of a rank, which is the `number`-th in its file, from 1."""
    node = rank.nodes.nodes.get(values["node_id"])
    kind = values["type"] or {"dtype": 0, "shape": []}
    statistics = values["statistics"]
    seconds, nanoseconds = divmod(values["time_unix_nano"], 1_000_000_000)
    try:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    except (OverflowError, ValueError, OSError):
        moment, nanoseconds = "1970-01-01T00:00:00", 0
    return Hit(
        id=values["number"] or number,
        watchpoint=values["watchpoint"],
        rank=rank.number,
        step=values["step"],
        node=rank.nodes.name(values["node_id"]),
        slot=values["slot"],
        op_type=node.op_type if node else "",
        dtype=dtype_name(kind["dtype"]),
        shape=tuple(kind["shape"]),
        order=values["order"],
        condition="",
        params={},
        actual=values["actual"],
        statistics=Statistics(**statistics) if statistics else None,
        origin=ORIGINS[values["origin"]] if values["origin"] < len(ORIGINS) else ORIGINS[0],
        source=_source(values["source"]),
        error=values["error"] or None,
        time=f"{moment}.{nanoseconds // 1000:06d}Z",
        absorbed=values["absorbed"],
        message=values["message"] or None,
    )


def _source(frame: Values | None) -> Source | None:
    return None if frame is None or not frame["file"] else Source(**frame)
