"""Files of messages: graph.gdbm, hits.gdbm and user-changes.gdbm."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from .crc32c import crc32c
from .errors import Damage

MAGIC = b"GDBGMSG\x01"
HEADER = struct.Struct("<8sII")
FRAME = struct.Struct("<II")
GRAPH_UPDATES, HITS, USER_CHANGES = 1, 2, 4
_MAX_MESSAGE = 4 << 20


class Messages:
    """The messages of a file.

    Args:
        name: The file, for error messages.
        content: Its bytes from `start` on.
        kind: The kind of messages that it should have.
        growing: Whether its end may be in the midst of a message.
        start: 0, or the `end` of an earlier reading, to continue there.

    Attributes:
        damage: Why those behind the last one cannot be read, once all have been iterated over.
        end: The offset behind the last message that was read.
    """

    def __init__(self, name: str, content: bytes, kind: int, growing: bool, start: int = 0) -> None:
        self._name = name
        self._start = start
        self._content = content
        self._kind = kind
        self._growing = growing
        self.damage: Damage | None = None
        self.end = start

    def __iter__(self) -> Iterator[bytes]:
        if self._start == 0:
            if not self._check_header():
                return
            self.end = HEADER.size
        while self.end - self._start < len(self._content):
            body = self._next()
            if body is None:
                return
            yield body

    def _check_header(self) -> bool:
        if len(self._content) < HEADER.size:
            return self._fails("the header is cut short", bool(self._content) and not self._growing)
        magic, kind, _ = HEADER.unpack_from(self._content)
        if magic[:7] != MAGIC[:7]:
            return self._fails("this is not a file of messages")
        if magic != MAGIC:
            return self._fails(f"version {magic[7]} of the format is later than 1")
        if kind != self._kind:
            return self._fails(f"messages of kind {kind}, not {self._kind}")
        return True

    def _next(self) -> bytes | None:
        """The next message; None for the first that does not fit."""
        at = self.end - self._start
        rest = len(self._content) - at - FRAME.size
        if rest < 0:
            self._fails("a message is cut short", not self._growing)
            return None
        size, crc = FRAME.unpack_from(self._content, at)
        if size > _MAX_MESSAGE:
            self._fails(f"a message of {size} bytes is larger than {_MAX_MESSAGE}")
            return None
        if size == 0 or size > rest:
            # The end of a file that is being written, or of one whose writer was killed.
            self._fails(f"a message of {size} bytes does not fit", not self._growing)
            return None
        body = self._content[at + FRAME.size : at + FRAME.size + size]
        if crc32c(body) != crc:
            self._fails("the checksum of a message does not match")
            return None
        self.end += FRAME.size + size
        return body

    def _fails(self, reason: str, is_damage: bool = True) -> bool:
        if is_damage:
            self.damage = Damage(self._name, self.end, reason)
        return False
