"""A TCP proxy that does what bad networks do: stop forwarding, delay, throttle, reset.

TCP repeats what a network drops, so a direction that stops and moves again
later is what its peers see of a black hole.
"""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
import time

UP = "up"  # from the client to the server
DOWN = "down"
BOTH = (UP, DOWN)
_RESET = struct.pack("ii", 1, 0)


class Proxy:
    """Forwards connections to a port of this machine. Close it after use."""

    def __init__(self, target: int, seed: int = 0) -> None:
        self.target = target
        self.forwarded = {UP: 0, DOWN: 0}
        self._random = random.Random(seed)
        self._open = {direction: threading.Event() for direction in BOTH}
        self._delay = 0.0
        self._bytes_per_second: dict[str, float] = {}
        self._sockets: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._closed = False
        self.heal()
        threading.Thread(target=self._accept, daemon=True).start()

    def heal(self) -> None:
        self._delay = 0.0
        self._bytes_per_second = {}
        for event in self._open.values():
            event.set()

    def hold(self, *directions: str) -> None:
        """Forwards nothing in these directions until heal()."""
        for direction in directions:
            self._open[direction].clear()

    def delay(self, seconds: float) -> None:
        """Delays everything by about this time."""
        self._delay = seconds

    def throttle(self, bytes_per_second: float, *directions: str) -> None:
        self._bytes_per_second = {direction: bytes_per_second for direction in directions}

    def reset(self) -> None:
        """Ends all connections with RST."""
        with self._lock:
            sockets, self._sockets = self._sockets, set()
        for each in sockets:
            with contextlib.suppress(OSError):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            _close(each)

    def close(self) -> None:
        self._closed = True
        _close(self._listener)
        self.heal()
        self.reset()

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self.target), timeout=10)
        except OSError:
            return _close(client)
        server.settimeout(None)
        with self._lock:
            self._sockets |= {client, server}
        for source, sink, direction in ((client, server, UP), (server, client, DOWN)):
            threading.Thread(target=self._pump, args=(source, sink, direction), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, direction: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            while data := source.recv(16384):
                self._open[direction].wait()
                self._slow_down(len(data), direction)
                sink.sendall(data)
                self.forwarded[direction] += len(data)
            self._open[direction].wait()
        # Both ways: half-open connections are of no interest here.
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            _close(each)
        with self._lock:
            self._sockets -= {source, sink}

    def _slow_down(self, size: int, direction: str) -> None:
        if self._delay:
            time.sleep(self._delay * self._random.uniform(0.8, 1.2))
        rate = self._bytes_per_second.get(direction)
        end = time.monotonic() + (size / rate if rate else 0)
        while time.monotonic() < end and direction in self._bytes_per_second:
            time.sleep(0.02)


def _close(each: socket.socket) -> None:
    with contextlib.suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    with contextlib.suppress(OSError):
        each.close()
