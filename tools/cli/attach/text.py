"""The text that a process runs: fixed, but for the settings."""

from __future__ import annotations

import json
from pathlib import Path

from ..client import Json
from .injection import ADDRESS_MARK

_SIZE_DIGITS = 8

# It runs in a dictionary of its own, so that no name appears in the program. It does nothing if nobody waits for the
# answer any more, and raises nothing. The module that frees its memory is there in every program with PyTorch.
_CODE = """
def free(sys):
    ctypes = sys.modules.get("ctypes")
    if ctypes is not None and not mark.startswith("0xG"):
        ctypes.CDLL(None).munmap(ctypes.c_void_p(int(mark, 16)), ctypes.c_size_t(size))
def connect():
    import socket
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(1)
    connection.connect(address)
    return connection
def call(sys):
    sys.path.insert(0, directory)
    try:
        import graphdbg._attach as attach
    except BaseException:
        if directory in sys.path:
            sys.path.remove(directory)
        raise
    getattr(attach, verb)(settings)
def answer(error):
    import json, traceback
    fields = {"state": "failed", "message": "%s: %s" % (type(error).__name__, error)}
    fields["traceback"] = traceback.format_exc()
    connection = connect()
    connection.sendall(json.dumps(fields).encode() + b"\\n")
    connection.close()
try:
    import sys
    free(sys)
    connect().close()
    try:
        call(sys)
    except BaseException as error:
        answer(error)
        raise
except KeyboardInterrupt:
    import _thread
    _thread.interrupt_main()
except BaseException:
    pass
"""


def make_text(verb: str, directory: Path, address: str, settings: Json) -> str:
    """Returns the source, in ASCII.

    Args:
        verb: "join" or "detach", a function of graphdbg._attach.
        directory: Contains the package graphdbg, as the process sees it.
        address: Of the socket for the answer: a path, or "@" and a name.
        settings: The function's argument, besides the address.
    """
    variables = {
        "verb": verb,
        "directory": str(directory),
        "address": address if address.startswith("/") else "\0" + address[1:],
        "settings": json.dumps({**settings, "answer": address}),
        "mark": ADDRESS_MARK,
    }
    begin, end = f"exec({_CODE!a}, {ascii(variables)[:-1]}, 'size': ", "})"
    # With the zero at its end.
    size = len(begin) + _SIZE_DIGITS + len(end) + 1
    return f"{begin}{size:>{_SIZE_DIGITS}}{end}"
