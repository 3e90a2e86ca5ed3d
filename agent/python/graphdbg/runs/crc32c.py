"""CRC-32C of records and of byte strings, computed by the agent's library.

Where that is missing, such as in a checkout that was not built, NumPy computes it over many
rows at a time. A CRC is linear: that of a row is the exclusive or of one table entry for each of its
16-bit words. A word that is the same in all rows of a block needs one look-up for the
block, and most words of a log's records are.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy
from graphdbg._c_api import LIBRARY

from .record import RECORD_SIZE, Array

_POLYNOMIAL = 0x82F63B78
_BLOCK = 4096
# Bytes of a row, into which byte strings are cut.
_LANE = 160
# A record's CRC covers its position, and itself without the first two words.
_POSITION_WORDS = 4
_CRC_WORDS = 2
_WORDS = RECORD_SIZE // 2
_TABLES = _POSITION_WORDS + _WORDS - _CRC_WORDS


@functools.cache
def _library() -> ctypes.CDLL | None:
    """The agent's library, if it is there and has the functions. Loading it starts nothing."""
    try:
        library = ctypes.CDLL(str(LIBRARY))
        of_bytes, of_records = library.graphdbg_checksum, library.graphdbg_checksum_records
    except (OSError, AttributeError):
        return None
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    of_bytes.argtypes, of_bytes.restype = (ctypes.c_uint32, pointer, size), ctypes.c_uint32
    of_records.argtypes, of_records.restype = (pointer, pointer, size, pointer), None
    return library


def _byte_table() -> Array:
    table = numpy.arange(256, dtype="u4")
    for _ in range(8):
        table = (table >> 1) ^ numpy.where(table & 1, numpy.uint32(_POLYNOMIAL), numpy.uint32(0))
    return table


_BYTE_TABLE = _byte_table()
_BYTES = [int(entry) for entry in _BYTE_TABLE]


def _after_zero_byte(states: Array) -> Array:
    after: Array = _BYTE_TABLE[states & 0xFF] ^ (states >> 8)
    return after


@functools.cache
def _tables() -> list[Array]:
    """By position in a row of _TABLES words, the share of each value of the word in the CRC.

    A shorter row uses the last ones.
    """
    tables: list[Array] = []
    states = _BYTE_TABLE
    for _ in range(_TABLES):
        high, states = states, _after_zero_byte(states)
        low, states = states, _after_zero_byte(states)
        # The entry of a word is that of its low byte, which comes first, and of its high byte.
        tables.append((high[:, None] ^ low[None, :]).reshape(-1))
    tables.reverse()
    return tables


def _raw(rows: Array, tables: list[Array | None]) -> Array:
    """The CRC states of rows, of shape (n, words / 4) as u64, from a state of 0. Words without a table are left out."""
    states = numpy.zeros(len(rows), "u4")
    index = numpy.empty(_BLOCK, numpy.intp)
    found = numpy.empty(_BLOCK, "u4")
    for start in range(0, len(rows), _BLOCK):
        result = states[start : start + _BLOCK]
        # A row of these for each eight bytes, because words of one column are then close together.
        columns = numpy.ascontiguousarray(rows[start : start + _BLOCK].T)
        varying = numpy.bitwise_or.reduce(columns ^ columns[:, :1], axis=1).view("<u2")
        words = columns.view("<u2").reshape(len(columns), len(result), 4)
        constant = 0
        for number, table in enumerate(tables):
            if table is None:
                continue
            word = words[number // 4, :, number % 4]
            if varying[number]:
                numpy.copyto(index[: len(word)], word)
                # `wrap` is the mode that needs no copy of the result; every word is in range.
                table.take(index[: len(word)], out=found[: len(word)], mode="wrap")
                result ^= found[: len(word)]
            else:
                constant ^= int(table[word[0]])
        result ^= numpy.uint32(constant)
    return states


@functools.cache
def _initial_share(size: int) -> int:
    """The share of the initial state in the CRC of `size` bytes."""
    state = 0xFFFFFFFF
    for _ in range(size):
        state = _BYTES[state & 0xFF] ^ (state >> 8)
    return state


def record_crcs(records: Array, first_position: int) -> Array:
    """The values for the field `crc` of records at consecutive positions.

    Args:
        records: A contiguous array of 160-byte records, of shape (n,).
        first_position: The position of the first one.

    Returns:
        u32 of shape (n,), never 0.
    """
    positions = numpy.uint64(first_position) + numpy.arange(len(records), dtype="<u8")
    return crcs_at(records, positions)


def crcs_at(records: Array, positions: Array) -> Array:
    """Like record_crcs, but for records at any positions (u64 of shape (n,))."""
    library = _library()
    if library is None:
        return crcs_by_numpy(records, positions)
    words = numpy.require(records.view("<u8"), requirements=["C", "A"])
    positions = numpy.ascontiguousarray(positions, "<u8")
    crcs = numpy.empty(len(records), "<u4")
    library.graphdbg_checksum_records(words.ctypes.data, positions.ctypes.data, len(records), crcs.ctypes.data)
    return crcs


def crcs_by_numpy(records: Array, positions: Array) -> Array:
    """Does the same as `crcs_at`, without the library."""
    tables = _tables()
    of_record: list[Array | None] = [None] * _CRC_WORDS
    of_record += tables[_POSITION_WORDS:]
    states = _raw(records.view("<u8").reshape(len(records), _WORDS // 4), of_record)
    states ^= _raw(positions.astype("<u8", copy=False).reshape(-1, 1), list(tables[:_POSITION_WORDS]))
    states ^= numpy.uint32(_initial_share(2 * _TABLES) ^ 0xFFFFFFFF)
    states[states == 0] = 1
    return states


def crc32c(data: Any) -> int:
    """The CRC-32C of a contiguous buffer of bytes."""
    library = _library()
    if library is None:
        return crc32c_by_numpy(data)
    view = memoryview(data).cast("B")
    if not view:
        return 0
    crc: int = library.graphdbg_checksum(0, numpy.frombuffer(view, "u1").ctypes.data, len(view))
    return crc


def crc32c_by_numpy(data: Any) -> int:
    """Does the same as `crc32c`, without the library."""
    view = memoryview(data).cast("B")
    lanes = len(view) // _LANE
    state = 0xFFFFFFFF
    if lanes > 1:
        rows = numpy.frombuffer(view, dtype="<u8", count=lanes * _LANE // 8).reshape(lanes, _LANE // 8)
        state = _joined(_raw(rows, list(_tables()[-_LANE // 2 :])), state)
        view = view[lanes * _LANE :]
    for byte in view:
        state = _BYTES[(state ^ byte) & 0xFF] ^ (state >> 8)
    return state ^ 0xFFFFFFFF


def _joined(states: Array, initial: int) -> int:
    """The state after all lanes, from the state after each of them by itself, by folding neighbours."""
    states = numpy.concatenate([numpy.array([initial], "u4"), states])
    lanes = 1
    while len(states) > 1:
        if len(states) % 2:
            # A lane of zeros before all others does not change the state of 0 that it begins with.
            states = numpy.concatenate([numpy.zeros(1, "u4"), states])
        states = _shifted(states[0::2], lanes) ^ states[1::2]
        lanes *= 2
    return int(states[0])


def _shifted(states: Array, lanes: int) -> Array:
    """The states after `lanes` more lanes of zeros, where `lanes` is a power of 2."""
    tables = _shift_tables(lanes)
    shifted: Array = tables[0][states & 0xFF]
    for byte in range(1, 4):
        shifted ^= tables[byte][(states >> (8 * byte)) & 0xFF]
    return shifted


@functools.cache
def _shift_tables(lanes: int) -> list[Array]:
    entries = [numpy.arange(256, dtype="u4") << numpy.uint32(8 * byte) for byte in range(4)]
    if lanes > 1:
        return [_shifted(_shifted(each, lanes // 2), lanes // 2) for each in entries]
    for _ in range(_LANE):
        entries = [_after_zero_byte(each) for each in entries]
    return entries
