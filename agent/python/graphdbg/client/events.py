"""The server's events of one job, received over a WebSocket."""

from __future__ import annotations

import contextlib
import json
import time
from typing import TYPE_CHECKING, Any

from .errors import GraphdbgError, UnreachableError
from .http import HttpClient, Json

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

_CONNECT_SECONDS = 40.0
# The server's answer to a close comes after all events that nobody has read.
_CLOSE_SECONDS = 0.5
# A snapshot contains up to 1,000 hits.
_MAX_MESSAGE_BYTES = 64 << 20


class EventStream:
    """Events of one job from a snapshot on, in order. Only `close` may be called from another thread.

    If the connection breaks it is opened again, and the events that were missed follow.
    """

    def __init__(self, http: HttpClient, job: str) -> None:
        self._http = http
        self._job = job
        self._sequence: int | None = None
        self._open = contextlib.ExitStack()
        self._closed = False
        self._socket = self._connect()

    def next(self, timeout: float | None = None) -> Json | None:
        """The next event; None if there is none within `timeout` seconds, or the stream was closed.

        Args:
            timeout: Default: wait forever.

        Raises:
            UnreachableError: The server has gone away.
        """
        from websockets.exceptions import ConnectionClosed

        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._closed:
            left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
            try:
                event = self._receive(left)
            except TimeoutError:
                return None
            except ConnectionClosed:
                if not self._closed:
                    self._socket = self._connect()
                continue
            if event.get("job") == self._job:
                self._sequence = event["seq"]
                return event
        return None

    def close(self) -> None:
        """Ends the stream, also a `next` that waits in another thread."""
        self._closed = True
        self._open.close()

    def _connect(self) -> ClientConnection:
        try:
            from websockets.exceptions import WebSocketException
            from websockets.sync.client import connect
        except ImportError:
            raise GraphdbgError("waiting for events needs the package 'websockets': pip install websockets") from None
        self._open.close()
        # Servers without tokens demand the header that browsers send.
        token = self._http.token
        headers = {"Authorization": f"Bearer {token}"} if token else {"Origin": self._http.address}
        url = f"ws{self._http.address.removeprefix('http')}/api/v1/events"
        try:
            self._socket = self._open.enter_context(
                connect(
                    url,
                    additional_headers=headers,
                    user_agent_header="graphdbg",
                    proxy=None,
                    compression=None,
                    open_timeout=_CONNECT_SECONDS,
                    close_timeout=_CLOSE_SECONDS,
                    max_size=_MAX_MESSAGE_BYTES,
                )
            )
            self._expect_ready()
            self._socket.send(json.dumps({"subscribe": self._subscription()}))
        except (OSError, WebSocketException) as error:
            raise UnreachableError(f"no events from the graphdbg server at {self._http.address}: {error}") from None
        return self._socket

    def _subscription(self) -> dict[str, Any]:
        return {"job": self._job} | ({} if self._sequence is None else {"after": self._sequence})

    def _expect_ready(self) -> None:
        first = self._receive(_CONNECT_SECONDS)
        if first.get("type") != "ready":
            raise UnreachableError(
                f"the graphdbg server at {self._http.address} refused to send events: {first.get('detail', first)}"
            )

    def _receive(self, timeout: float | None) -> Json:
        message: Json = json.loads(self._socket.recv(timeout))
        return message
