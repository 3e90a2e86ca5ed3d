"""A client of the Debug Adapter Protocol for tests, which checks every message that it receives."""

from __future__ import annotations

import contextlib
import functools
import json
import queue
import subprocess
import threading
from pathlib import Path
from typing import Any, BinaryIO

import jsonschema
from conftest import GRAPHDBG, clean_environment

Json = dict[str, Any]

SCHEMA = Path(__file__).resolve().parents[2] / "third_party" / "debug_adapter_protocol" / "debugProtocol.json"
SECONDS = 120


@functools.cache
def _validator(definition: str) -> jsonschema.Draft4Validator:
    schema = json.loads(SCHEMA.read_text())
    # Requests of our own have no definition.
    known = definition if definition in schema["definitions"] else definition.removeprefix("Graphdbg/pageAddress")
    return jsonschema.Draft4Validator({**schema, "$ref": f"#/definitions/{known}"})


def check(message: Json) -> None:
    """Fails if a message does not follow the protocol's schema."""
    kind = message["type"]
    if kind == "response" and not message["success"]:
        definition = "ErrorResponse"
    else:
        name = message["event" if kind == "event" else "command"]
        definition = f"{name[0].upper()}{name[1:]}{kind.capitalize()}"
    _validator(definition).validate(message)


def framed(content: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(content), content)


def read_frame(stream: BinaryIO) -> Json | None:
    length = None
    while line := stream.readline():
        if line == b"\r\n":
            assert length is not None
            message: Json = json.loads(stream.read(length))
            return message
        name, _, value = line.partition(b":")
        assert name == b"Content-Length", line
        length = int(value)
    return None


class DapClient:
    """`graphdbg dap` on standard input and output, or a connection to its port."""

    def __init__(self, reader: BinaryIO, writer: BinaryIO) -> None:
        self.writer = writer
        self.seen: list[Json] = []
        self._messages: queue.Queue[Json | None] = queue.Queue()
        self._sent = 0
        threading.Thread(target=self._read, args=(reader,), daemon=True).start()

    def _read(self, reader: BinaryIO) -> None:
        while message := read_frame(reader):
            self._messages.put(message)
        self._messages.put(None)

    def write(self, data: bytes) -> None:
        self.writer.write(data)
        self.writer.flush()

    def send(self, command: str, /, **arguments: Any) -> int:
        """Sends a request and returns its number."""
        self._sent += 1
        message = {"seq": self._sent, "type": "request", "command": command, "arguments": arguments}
        check(message)
        self.write(framed(json.dumps(message).encode()))
        return self._sent

    def next(self) -> Json | None:
        """The next message; None at the end."""
        message = self._messages.get(timeout=SECONDS)
        if message is not None:
            check(message)
            self.seen.append(message)
        return message

    def response(self, number: int) -> Json:
        """The response to a request. Other messages are kept in `seen`."""
        while (message := self.next()) is not None:
            if message["type"] == "response" and message["request_seq"] == number:
                return message
        raise AssertionError(f"no response to {number}")

    def request(self, command: str, /, **arguments: Any) -> Json:
        """The body of the response to a request, which must succeed."""
        response = self.response(self.send(command, **arguments))
        assert response["success"], response
        body: Json = response.get("body") or {}
        return body

    def refused(self, command: str, /, **arguments: Any) -> str:
        """The message of the response to a request, which must fail."""
        response = self.response(self.send(command, **arguments))
        assert not response["success"], response
        assert "Traceback" not in response["message"]
        return str(response["message"])

    def event(self, name: str) -> Json:
        """The body of the next event of a name."""
        while (message := self.next()) is not None:
            if message["type"] == "event" and message["event"] == name:
                return dict(message.get("body") or {})
        raise AssertionError(f"no event {name}")

    def happened(self, name: str) -> Json:
        """The body of an event that may have come before what was waited for last."""
        for message in self.seen:
            if message.get("event") == name:
                return dict(message.get("body") or {})
        return self.event(name)

    def initialize(self, **abilities: Any) -> Json:
        return self.request("initialize", adapterID="graphdbg", clientID="test", **abilities)


class DapProcess(DapClient):
    """An adapter of its own."""

    def __init__(self, *options: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [GRAPHDBG, "dap", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=clean_environment(**environment),
        )
        assert self.process.stdin and self.process.stdout
        super().__init__(self.process.stdout, self.process.stdin)

    def ended(self) -> tuple[int, str]:
        """The exit code and the errors."""
        _, errors = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, errors.decode()

    def close(self) -> None:
        if self.process.poll() is None:
            # It ends what it has launched.
            self.process.terminate()
        self.process.wait(SECONDS)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream
            with contextlib.suppress(BrokenPipeError):
                stream.close()
