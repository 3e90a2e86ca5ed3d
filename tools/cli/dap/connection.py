"""What an adapter sends. Every method may be called from any thread."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import BinaryIO

from .errors import error_body, sentence
from .wire import Json, write_message

Answer = Callable[[Json], None]


class Connection:
    """Numbers and sends responses, events and requests to the client."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._sent = 0
        # What is done with the answers to requests to the client, by their numbers.
        self._waiting: dict[int, Answer] = {}

    def respond(self, request: Json, body: Json | None) -> None:
        fields = {"success": True, "command": request["command"], "request_seq": request["seq"]}
        self._send("response", fields | ({} if body is None else {"body": body}))

    def fail(self, request: Json, error: Exception) -> None:
        message = sentence(error)
        fields = {"success": False, "command": request["command"], "request_seq": request["seq"], "message": message}
        self._send("response", fields | {"body": error_body(error)})

    def event(self, name: str, body: Json | None = None) -> None:
        self._send("event", {"event": name} | ({} if body is None else {"body": body}))

    def request(self, command: str, arguments: Json, answer: Answer = lambda _: None) -> None:
        """Sends a request to the client. `answer` gets its response, on the thread that reads messages."""
        self._send("request", {"command": command, "arguments": arguments}, answer)

    def handle_response(self, response: Json) -> None:
        """Passes a response of the client on. One that nobody waits for is ignored."""
        with self._lock:
            answer = self._waiting.pop(response["request_seq"], None)
        if answer is not None:
            answer(response)

    def _send(self, kind: str, fields: Json, answer: Answer | None = None) -> None:
        # A client that has gone away is noticed by the thread that reads.
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._sent += 1
            if answer is not None:
                self._waiting[self._sent] = answer
            write_message(self._stream, {"seq": self._sent, "type": kind, **fields})
