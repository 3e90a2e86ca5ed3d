"""TensorBoard event files: TFRecords of the message Event, written without the package tensorboard."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import BinaryIO

import numpy

from .crc32c import crc32c
from .record import Array

_BUCKETS = 64


class EventFile:
    """Writes events to a stream.

    Attributes:
        events: The number of events with values.
    """

    def __init__(self, stream: BinaryIO, wall_time: float) -> None:
        self._stream = stream
        self.events = 0
        self._record(_double(1, wall_time) + _bytes(3, b"brain.Event:2"))

    def scalars(self, step: int, wall_time: float, values: Sequence[tuple[str, float]]) -> None:
        """Writes values with their tags."""
        self._event(step, wall_time, [_bytes(1, tag.encode()) + _float(2, value) for tag, value in values])

    def histogram(self, step: int, wall_time: float, tag: str, value: Array) -> None:
        """Writes a histogram of the finite elements of a tensor."""
        elements = numpy.asarray(value, "f8").ravel()
        elements = elements[numpy.isfinite(elements)]
        if not len(elements):
            return
        counts, edges = numpy.histogram(elements, _BUCKETS)
        body = _double(1, float(elements.min())) + _double(2, float(elements.max())) + _double(3, float(len(elements)))
        body += _double(4, float(elements.sum())) + _double(5, float((elements**2).sum()))
        body += _bytes(6, edges[1:].astype("<f8").tobytes()) + _bytes(7, counts.astype("<f8").tobytes())
        self._event(step, wall_time, [_bytes(1, tag.encode()) + _bytes(5, body)])

    def _event(self, step: int, wall_time: float, values: Sequence[bytes]) -> None:
        summary = b"".join(_bytes(1, value) for value in values)
        self._record(_double(1, wall_time) + _varint(2 << 3) + _varint(step) + _bytes(5, summary))
        self.events += 1

    def _record(self, content: bytes) -> None:
        length = struct.pack("<Q", len(content))
        self._stream.write(length + _masked(length) + content + _masked(content))


def _masked(content: bytes) -> bytes:
    crc = crc32c(content)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _varint(number: int) -> bytes:
    encoded = bytearray()
    number &= (1 << 64) - 1
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _double(field: int, value: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def _float(field: int, value: float) -> bytes:
    return _varint(field << 3 | 5) + struct.pack("<f", float(numpy.float32(value)))
