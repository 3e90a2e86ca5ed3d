"""`readMemory`: the bytes of a tensor, in row-major order."""

from __future__ import annotations

import base64
import re

from . import arguments as read
from .context import Context
from .dispatch import Handler
from .errors import RequestError
from .wire import Json

# Base64 makes a third more of it, which must fit into a message.
_MOST_BYTES = 4 << 20
_REFERENCE = re.compile(r"(?P<name>.+)@(?P<step>\w+)@(?P<rank>\d+)")


class Memory:
    """Reads ranges of bytes, and says when they have changed."""

    def __init__(self, context: Context) -> None:
        self._context = context
        # What was read since the last stop, of values of the step at which the job stands: the number of bytes.
        self._read: dict[str, int] = {}

    def handlers(self) -> dict[str, Handler]:
        return {"readMemory": self._read_memory}

    def has_changed(self) -> None:
        """The job has moved: what the client shows may have other values now. It then reads again."""
        read, self._read = self._read, {}
        if self._context.client.supports("supportsMemoryEvent"):
            for reference, count in read.items():
                self._context.connection.event("memory", {"memoryReference": reference, "offset": 0, "count": count})

    def _read_memory(self, request: Json) -> Json:
        arguments = request.get("arguments", {})
        match = _REFERENCE.fullmatch(read.text(arguments, "memoryReference"))
        if match is None:
            raise RequestError("memoryReference must be NODE:SLOT@STEP@RANK")
        offset, count = arguments.get("offset") or 0, read.number(arguments, "count")
        if type(offset) is not int:
            raise RequestError("offset must be a whole number")
        # Clients ask for whole pages; there is nothing before the first byte.
        start, end = max(offset, 0), offset + min(count, _MOST_BYTES)
        job = self._context.need_session().job
        data = b""
        if end > start:
            data = job.read_bytes(match["name"], start, end - start, step=match["step"], rank=int(match["rank"]))
        if match["step"] == "current":
            self._read[match[0]] = max(end, self._read.get(match[0], 0))
        missing = {"unreadableBytes": count - len(data)} if len(data) < count else {}
        return {"address": str(start), "data": base64.b64encode(data).decode(), **missing}
