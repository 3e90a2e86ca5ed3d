"""Keeps the page of a job that has ended for those who look at it."""

from __future__ import annotations

import time

from . import report
from .ending_signals import ended_by_signals
from .errors import CliError
from .server_process import ServerProcess

_POLL_SECONDS = 0.5
# For how long nobody may look at the page. It reconnects when it is reloaded.
_ABSENT_SECONDS = 5.0


def hold_page(server: ServerProcess) -> None:
    """Returns when nobody looks at the page any more, or at Ctrl-C or a signal that ends this process."""
    if not _viewers(server):
        return
    with ended_by_signals() as ended:
        report.log("the page stays, because a browser shows it; press Ctrl-C to end")
        last_seen = time.monotonic()
        while not ended.wait(_POLL_SECONDS) and time.monotonic() < last_seen + _ABSENT_SECONDS:
            if _viewers(server):
                last_seen = time.monotonic()


def _viewers(server: ServerProcess) -> int:
    try:
        return int(server.client.get("/server")["viewers"])
    except CliError:
        return 0
