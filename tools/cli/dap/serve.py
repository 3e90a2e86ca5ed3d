"""The transports: standard input and output, or a port of this machine."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO

from .interruptible_input import InterruptibleInput
from .own_server import OwnServer
from .peers import peer_uid


def serve_stdio() -> int:
    """Serves one session on standard input and output. Returns the exit code."""
    # What this process and its children print must not get among the messages.
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # Editors end an adapter this way; what it has launched must end as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with io.BufferedReader(InterruptibleInput(sys.stdin.fileno())) as reader:
            return 0 if _serve(reader, output, None) else 1
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def serve_port(port: int, token: str | None) -> int:
    """Serves a session for each connection to a port, until Ctrl-C.

    Args:
        port: 0 picks a free one. The first line of the output names it, and the token.
        token: What `launch` and `attach` must contain as `token`. None: connections of other users are refused.
    """
    with socket.create_server(("127.0.0.1", port)) as listener:
        named = {"port": listener.getsockname()[1]} | ({"token": token} if token else {})
        print(json.dumps(named), flush=True)
        while True:
            accepted, _ = listener.accept()
            if token is None and peer_uid(accepted) != os.geteuid():
                print("graphdbg: dap: a connection of another user was refused; --token lets it in", file=sys.stderr)
                accepted.close()
                continue
            threading.Thread(target=_serve_socket, args=(accepted, token), daemon=True).start()


def _serve_socket(accepted: socket.socket, token: str | None) -> None:
    accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with accepted, accepted.makefile("rb") as reader, accepted.makefile("wb") as writer:
        _serve(reader, writer, token)
        with contextlib.suppress(OSError):
            accepted.shutdown(socket.SHUT_RDWR)


def _serve(reader: BinaryIO, writer: BinaryIO, token: str | None) -> bool:
    """Returns whether the session has ended in an orderly way."""
    # Clients wait for the answer to their first request, which needs the server: it starts while the rest is imported.
    starter = ThreadPoolExecutor(1)
    server = starter.submit(OwnServer)
    starter.shutdown(wait=False)
    from .adapter import Adapter
    from .connection import Connection
    from .wire import MalformedMessageError

    adapter = Adapter(Connection(writer), server, token)
    try:
        adapter.run(reader)
    except MalformedMessageError as error:
        print(f"graphdbg: dap: the session has ended, because the client sent {error}", file=sys.stderr)
        return False
    except OSError:
        # The client has gone away.
        return True
    finally:
        adapter.close()
    return True
