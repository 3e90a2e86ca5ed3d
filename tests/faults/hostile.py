"""Peers that mean harm, on both ports of a server. Each call is one attack; it returns when it is over.

What the server answers does not matter here: only that others are served all the time.
"""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import time
from collections.abc import Callable

_HEAD = "{method} {path} HTTP/1.1\r\nHost: {host}:{port}\r\n"


class Victim:
    """Where a server listens, and a token that it does not know."""

    def __init__(self, http: tuple[str, int], agents: tuple[str, int]) -> None:
        self.http = http
        self.agents = agents
        self.random = random.Random()

    def head(self, method: str, path: str) -> bytes:
        host, port = self.http
        return _HEAD.format(method=method, path=path, host=host, port=port).encode()


def _exchange(address: tuple[str, int], data: bytes, seconds: float = 2) -> None:
    """Sends the bytes and reads what comes back until the end, or for this time."""
    deadline = time.monotonic() + seconds
    with contextlib.suppress(OSError), socket.create_connection(address, timeout=seconds) as peer:
        peer.sendall(data)
        while time.monotonic() < deadline and peer.recv(65536):
            pass


def guess_tokens(victim: Victim) -> None:
    head = victim.head("GET", "/api/v1/jobs")
    request = head + b"Authorization: Bearer " + victim.random.randbytes(16).hex().encode() + b"\r\n\r\n"
    _exchange(victim.http, request * 20, 0.5)


def guess_codes(victim: Victim) -> None:
    body = b'{"code":"' + victim.random.randbytes(8).hex().encode() + b'"}'
    head = victim.head("POST", "/login") + b"Content-Type: application/json\r\n"
    _exchange(victim.http, head + b"Content-Length: %d\r\n\r\n" % len(body) + body, 0.5)


def deep_json(victim: Victim) -> None:
    body = b"[" * 100_000
    head = victim.head("POST", "/login") + b"Content-Type: application/json\r\n"
    _exchange(victim.http, head + b"Content-Length: %d\r\n\r\n" % len(body) + body)


def endless_headers(victim: Victim) -> None:
    _exchange(victim.http, victim.head("GET", "/") + b"X: y\r\n" * 50_000)


def slow_request(victim: Victim) -> None:
    """A byte of the request line every now and then."""
    with contextlib.suppress(OSError), socket.create_connection(victim.http, timeout=5) as peer:
        for byte in victim.head("GET", "/")[:12]:
            peer.sendall(bytes([byte]))
            time.sleep(1)


def reads_nothing(victim: Victim) -> None:
    """Asks for the page many times and does not read it."""
    with contextlib.suppress(OSError), socket.create_connection(victim.http, timeout=5) as peer:
        for _ in range(200):
            peer.sendall(victim.head("GET", "/") + b"\r\n")
        time.sleep(5)


def foreign_page(victim: Victim) -> None:
    """A foreign web page that tries to open the event stream."""
    request = victim.head("GET", "/api/v1/events") + (
        b"Origin: https://evil.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    _exchange(victim.http, request, 0.5)


def noise(victim: Victim) -> None:
    for address in (victim.http, victim.agents):
        _exchange(address, victim.random.randbytes(victim.random.randrange(1, 65536)), 0.5)


def broken_http2(victim: Victim) -> None:
    """A preface of HTTP/2, then frames of random types and lengths."""
    frames = b"".join(
        struct.pack(">I", victim.random.randrange(64))[1:] + victim.random.randbytes(6 + victim.random.randrange(64))
        for _ in range(50)
    )
    _exchange(victim.agents, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frames, 0.5)


def many_connections(victim: Victim) -> None:
    """Opens connections and sends nothing."""
    with contextlib.ExitStack() as stack:
        for number in range(200):
            with contextlib.suppress(OSError):
                address = victim.agents if number % 2 else victim.http
                stack.enter_context(socket.create_connection(address, timeout=1))
        time.sleep(3)


ATTACKS: tuple[Callable[[Victim], None], ...] = (
    guess_tokens, guess_codes, deep_json, endless_headers, slow_request, reads_nothing, foreign_page, noise,
    broken_http2, many_connections,
)  # fmt: skip
