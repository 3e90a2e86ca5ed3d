"""Packed columns of numbers, as the server sends graphs and statistics (proto/docs/graph-index.md)."""

from __future__ import annotations

import itertools
import json
import sys
from array import array
from typing import Any

MAGIC = b"GDBGIDX\x02"
_TYPES = {"u8": "B", "u32": "I", "u64": "Q", "f64": "d"}
_MASK = 0xFFFFFFFF


class PackedColumns:
    """The columns of one response. Each is decoded when it is asked for. Needs nothing besides the standard library.

    Attributes:
        header: What the response says besides.
    """

    def __init__(self, data: bytes) -> None:
        """
        Args:
            data: The body of the response, not compressed.
        """
        if data[:8] != MAGIC:
            raise ValueError("these are no packed columns of version 2")
        size = int.from_bytes(data[8:16], "little")
        self.header: dict[str, Any] = json.loads(data[16 : 16 + size])
        self._data = data
        self._base = 16 + size

    def column(self, name: str) -> array[Any]:
        """The numbers of a column; none if there is no such column."""
        described = self.header["columns"].get(name)
        if described is None:
            return array("I")
        values = array(_TYPES[described["type"]])
        values.frombytes(self.bytes_of(name, values.itemsize))
        if sys.byteorder == "big":
            values.byteswap()
        if described.get("differences"):
            return array("I", [each & _MASK for each in itertools.accumulate(values)])
        return values

    def bytes_of(self, name: str, item_size: int = 1) -> bytes:
        """The bytes of a column."""
        described = self.header["columns"].get(name, {"offset": 0, "count": 0})
        begin = self._base + described["offset"]
        return self._data[begin : begin + described["count"] * item_size]


def packed(header: dict[str, Any], columns: dict[str, array[int] | bytes] | None = None) -> bytes:
    """A response in this format."""
    described, content = {}, b""
    for name, values in (columns or {}).items():
        kind = "u8" if isinstance(values, bytes) else "u32"
        described[name] = {"type": kind, "offset": len(content), "count": len(values)}
        if isinstance(values, array) and sys.byteorder == "big":
            values.byteswap()
        part = bytes(values)
        content += part + bytes(-len(part) % 8)
    text = json.dumps({**header, "columns": described}).encode()
    text += b" " * (-len(text) % 8)
    return MAGIC + len(text).to_bytes(8, "little") + text + content
