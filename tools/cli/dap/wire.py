"""Framing of the protocol: a header with the length, and then a message in JSON."""

from __future__ import annotations

import json
import re
from typing import Any, BinaryIO, NoReturn

Json = dict[str, Any]

MAX_HEADER_BYTES = 4 << 10
MAX_MESSAGE_BYTES = 8 << 20
MAX_DEPTH = 64

# Whatever a browser sends to a port of this machine begins with another line.
_HEADER = re.compile(rb"(content-length|content-type):.*", re.IGNORECASE)
_LENGTH = re.compile(rb"content-length:[ \t]*([0-9]{1,19})[ \t]*", re.IGNORECASE)


class MalformedMessageError(Exception):
    """What arrived is no message of the protocol.

    Attributes:
        seq: The number of the message if it can be answered. Otherwise the session cannot continue.
        command: The command that was requested, if that is known.
    """

    def __init__(self, reason: str, seq: int | None = None, command: str = "") -> None:
        super().__init__(reason)
        self.seq = seq
        self.command = command


def read_message(stream: BinaryIO) -> Json | None:
    """Reads one message with its type and number checked; None at the end of the stream.

    Raises:
        MalformedMessageError: It is none, or exceeds a limit.
    """
    length = _read_header(stream)
    if length is None:
        return None
    if length > MAX_MESSAGE_BYTES:
        raise MalformedMessageError(f"a message of {length} bytes; the limit is {MAX_MESSAGE_BYTES}")
    content = _read_exactly(stream, length)
    return None if content is None else _parse(content)


def write_message(stream: BinaryIO, message: Json) -> None:
    content = json.dumps(message, allow_nan=False, separators=(",", ":")).encode("ascii")
    stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(content), content))
    stream.flush()


def _read_header(stream: BinaryIO) -> int | None:
    """The length that the header names; None at the end of the stream."""
    length: int | None = None
    left = MAX_HEADER_BYTES
    while True:
        line = stream.readline(left)
        left -= len(line)
        if not line.endswith(b"\n"):
            # A client that exits may leave a part of a message.
            if left > 0:
                return None
            raise MalformedMessageError(f"a header of more than {MAX_HEADER_BYTES} bytes")
        line = line.rstrip(b"\r\n")
        if line:
            if not _HEADER.fullmatch(line):
                raise MalformedMessageError("a header that is none of the protocol")
            match = _LENGTH.fullmatch(line)
            length = int(match[1]) if match else length
        elif length is not None:
            return length
        else:
            raise MalformedMessageError("a header without Content-Length")


def _read_exactly(stream: BinaryIO, length: int) -> bytes | None:
    parts: list[bytes] = []
    while length > 0:
        part = stream.read(length)
        if not part:
            return None
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _parse(content: bytes) -> Json:
    try:
        message = json.loads(content.decode("utf-8"), parse_constant=_refuse_constant)
    except RecursionError:
        raise MalformedMessageError("a message that is nested too deeply") from None
    except ValueError as error:
        raise MalformedMessageError(f"a message that is not JSON: {error}") from None
    if not isinstance(message, dict):
        raise MalformedMessageError("a message that is not an object")
    _check(message)
    return message


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _check(message: Json) -> None:
    seq, kind = message.get("seq"), message.get("type")
    # In Python, True is an int.
    if type(seq) is not int:
        raise MalformedMessageError("a message without a sequence number")
    command = message.get("command")
    name = command if isinstance(command, str) else ""
    if _is_too_deep(message):
        raise MalformedMessageError(f"the message is nested more than {MAX_DEPTH} levels deep", seq, name)
    if kind not in ("request", "response", "event"):
        raise MalformedMessageError("the message has no type of the protocol", seq, name)
    if kind == "request" and not name:
        raise MalformedMessageError("the request has no command", seq)
    if kind == "request" and not isinstance(message.get("arguments", {}), dict):
        raise MalformedMessageError("the arguments of the request are not an object", seq, name)
    if kind == "response" and type(message.get("request_seq")) is not int:
        raise MalformedMessageError("a response without request_seq")


def _is_too_deep(message: Json) -> bool:
    level: list[Any] = [message]
    for _ in range(MAX_DEPTH):
        level = [inner for value in level for inner in _inner(value)]
        if not level:
            return False
    return True


def _inner(value: Any) -> list[Any]:
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [each for each in values if isinstance(each, (dict, list))]
