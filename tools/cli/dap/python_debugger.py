"""A Python debugger beside ours: debugpy in the program, and a session of the client for it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

from .context import Context
from .wire import Json

NOTE = "Python continues when the graph does"

_POLL_SECONDS = 0.1
_LISTENING = "0A"


def free_port() -> int:
    """A port of this machine that nobody uses now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def debug_python(context: Context, port: int, name: str, has_ended: Callable[[], bool]) -> None:
    """Has the client debug the Python code once debugpy listens at a port.

    Args:
        name: The name of the program.
        has_ended: Whether the program has ended.
    """
    threading.Thread(target=_debug, args=(context, port, name, has_ended), daemon=True).start()


def _debug(context: Context, port: int, name: str, has_ended: Callable[[], bool]) -> None:
    # Connecting would take the place of the client.
    while not _is_listening(port):
        if has_ended():
            return
        time.sleep(_POLL_SECONDS)
    connect = {"host": "127.0.0.1", "port": port}
    configuration: Json = {"name": f"{name} (Python)", "type": "debugpy", "request": "attach", "connect": connect}
    if context.client.supports("supportsStartDebuggingRequest"):
        context.connection.request("startDebugging", {"request": "attach", "configuration": configuration})
    else:
        text = f"the program waits for a Python debugger (debugpy) at 127.0.0.1:{port}\n"
        context.connection.event("output", {"category": "important", "output": text})


def _is_listening(port: int) -> bool:
    """Whether a process of this machine listens at a port."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, rows):
            if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                return True
    return False
