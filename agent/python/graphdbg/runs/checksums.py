"""Checksums over all fields of a table, by which what was written is compared with what is read back."""

from __future__ import annotations

import functools
import hashlib
from typing import Any

import numpy

from .packages import load
from .record import Array

_MASK = (1 << 64) - 1

# By column; and the number of rows.
Checksums = tuple[int, dict[str, int]]


def checksums(table: Any) -> Checksums:
    """The number of rows, and for each column a checksum of its values and their order."""
    return table.num_rows, {name: _checksum(table.column(name)) for name in table.column_names}


def _checksum(column: Any) -> int:
    pa = load("pyarrow", "packing a run")
    if pa.types.is_dictionary(column.type):
        return _of_words(column.unify_dictionaries().combine_chunks())
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return _of_numbers(column.to_numpy()) ^ int(column.null_count)
    digest = hashlib.blake2b(repr(column.to_pylist()).encode(), digest_size=8)
    return int.from_bytes(digest.digest(), "little")


def _of_words(column: Any) -> int:
    # Equal strings may have other numbers in another dictionary.
    words = [hash(word) & _MASK for word in column.dictionary.to_pylist()]
    return _of_numbers(numpy.array(words, "<u8")[column.indices.to_numpy()])


def _of_numbers(values: Array) -> int:
    """The sum of the values, eight bytes at a time, with a weight for each place."""
    content = numpy.ascontiguousarray(values).view("u1")
    count = len(content) // 8
    total = int((content[: 8 * count].view("<u8") * _weights(count)).sum(dtype="<u8"))
    rest = int.from_bytes(content[8 * count :].tobytes(), "little")
    return (total + rest * (2 * count + 1)) & _MASK


@functools.lru_cache(maxsize=8)
def _weights(count: int) -> Array:
    """Odd numbers, so that no bit of a value is lost, and different ones, so that the order counts."""
    return numpy.arange(count, dtype="<u8") * numpy.uint64(0x9E3779B97F4A7C16) + numpy.uint64(1)
