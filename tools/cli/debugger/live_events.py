"""Receives the events of a live job on a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from graphdbg.client.errors import UnreachableError
from graphdbg.client.events import EventStream
from graphdbg.client.http import HttpClient, Json

# How long a server that has gone may take to come back.
_AWAY_SECONDS = 60.0
_RETRY_SECONDS = 0.5


class EventFeed:
    """Calls a function for each event, in order, from a snapshot on."""

    def __init__(
        self,
        http: HttpClient,
        job: str,
        on_event: Callable[[Json], None],
        on_server: Callable[[str], None],
    ) -> None:
        """Connects, and returns when the first event has been handled.

        Args:
            http: The server.
            job: The id of the job.
            on_event: Called with each event.
            on_server: Called with "gone" once, then with "back", or with "lost" after a minute.
        """
        self._on_event = on_event
        self._on_server = on_server
        self._stream = EventStream(http, job)
        self._closed = threading.Event()
        first = self._stream.next()
        if first is not None:
            on_event(first)
        self._thread = threading.Thread(target=self._run, name="graphdbg events", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the thread. May be called on it."""
        self._closed.set()
        self._stream.close()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout=5)

    def _run(self) -> None:
        gone_since: float | None = None
        while not self._closed.is_set():
            try:
                event = self._stream.next()
            except UnreachableError:
                gone_since = gone_since or self._gone()
                if time.monotonic() - gone_since > _AWAY_SECONDS:
                    self._on_server("lost")
                    return
                self._closed.wait(_RETRY_SECONDS)
                continue
            if gone_since is not None:
                gone_since = None
                self._on_server("back")
            if event is not None:
                self._on_event(event)

    def _gone(self) -> float:
        self._on_server("gone")
        return time.monotonic()
