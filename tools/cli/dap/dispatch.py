"""Decides which thread answers a request.

Requests are answered in order by the thread that reads them, except for those that may take long:
worker threads answer these, so that the client can cancel them, or move on, meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO

from .connection import Connection
from .errors import CANCELLED, RequestError, report_defect
from .wire import Json, MalformedMessageError, read_message

Handler = Callable[[Json], Json | None]
_WORKERS = 4


class LaterAnswer(Exception):
    """Raised by a handler whose request is answered later, by other means."""


class Dispatcher:
    """Reads the client's messages and has them answered."""

    def __init__(self, connection: Connection, handlers: Mapping[str, Callable[[Json], Json | None]]) -> None:
        """
        Args:
            handlers: By command: takes the request, and returns the body of the response.
        """
        self._connection = connection
        self._handlers = handlers
        self._ended = False
        self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="dap")
        self._lock = threading.Lock()
        # Long requests that are not answered yet, by their numbers.
        self._pending: dict[int, Json] = {}

    def run(self, stream: BinaryIO, long: Set[str]) -> None:
        """Handles messages until the stream ends, or `stop` is called.

        Args:
            long: The commands that worker threads answer.

        Raises:
            MalformedMessageError: What arrived cannot be answered.
        """
        try:
            while not self._ended:
                try:
                    message = read_message(stream)
                except MalformedMessageError as error:
                    if error.seq is None:
                        raise
                    self._connection.fail({"seq": error.seq, "command": error.command}, RequestError(str(error)))
                    continue
                if message is None:
                    return
                self._handle(message, long)
        finally:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def stop(self) -> None:
        """No further message is read."""
        self._ended = True

    def cancel(self, seq: object) -> None:
        """Answers a request that is still being worked on; its result is dropped."""
        with self._lock:
            request = self._pending.pop(seq, None) if type(seq) is int else None
        if request is not None:
            self._connection.fail(request, RequestError(CANCELLED))

    def _handle(self, message: Json, long: Set[str]) -> None:
        if message["type"] == "response":
            self._connection.handle_response(message)
        elif message["type"] == "request":
            if message["command"] in long:
                with self._lock:
                    self._pending[message["seq"]] = message
                self._pool.submit(self._work, message)
            else:
                self._answer(message, lambda: True)

    def _work(self, request: Json) -> None:
        if request["seq"] in self._pending:
            self._answer(request, lambda: self._claim(request))

    def _claim(self, request: Json) -> bool:
        """Whether the request is still to be answered."""
        with self._lock:
            return self._pending.pop(request["seq"], None) is not None

    def _answer(self, request: Json, claim: Callable[[], bool]) -> None:
        handler = self._handlers.get(request["command"])
        try:
            if handler is None:
                raise RequestError(f"graphdbg does not know the request {request['command']!r}")
            body = handler(request)
        except LaterAnswer:
            return
        except Exception as error:
            if claim():
                report_defect(error)
                self._connection.fail(request, error)
            return
        if claim():
            self._connection.respond(request, body)
