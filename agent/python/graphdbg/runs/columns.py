"""Records of statistics and changes as Arrow tables, and back.

A table has a row for each record, in the order of its tensor's name, mode, step and pass.
Rows keep the position of their record, from which `unpack` restores the log. What a table
cannot hold is found by `unfaithful`: NaNs that are not the usual one, and names that do not
lead back to their node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy

from .crc32c import crcs_at
from .graph import NodeTable, split_tensor
from .packages import load
from .record import (
    CHANGE,
    CHANGE_KIND,
    CHANGE_MEASURES,
    COUNTS,
    HEADER_FIELDS,
    MEASURES,
    MODES,
    RECORD,
    RECORD_SIZE,
    STATISTICS_KIND,
    Array,
)
from .schema import CATEGORIES
from .steps import StepIndex

_WORDS = RECORD_SIZE // 8
_NAN_BITS = 0x7FF8000000000000
_BLOCK = 4096
_LARGEST_TABLE_OF_KEYS = 1 << 26

# By kind: the 64-bit fields from offset 32 on, in order.
COUNT_COLUMNS = {
    STATISTICS_KIND: COUNTS,
    CHANGE_KIND: ("count", "finite_count", "digest"),
}
MEASURE_COLUMNS = {STATISTICS_KIND: MEASURES, CHANGE_KIND: CHANGE_MEASURES}
_AFTER = {STATISTICS_KIND: (), CHANGE_KIND: ("changed_count", "compared_step")}
KEY_COLUMNS = ("position", "step", "mode_step", "mode", "dtype", "pass", "iteration", "exec_order", "flags")


class Words:
    """Records as columns of 64-bit words, with their positions: what a table is made of.

    Args:
        capacity: The largest number of records. Memory is only used for those that are added.
    """

    def __init__(self, capacity: int) -> None:
        self._positions = numpy.empty(capacity, "<u8")
        self._columns = numpy.empty((_WORDS, capacity), "<u8")
        self._count = 0
        self._tensors: tuple[Array, Array] | None = None

    @staticmethod
    def of(positions: Array, records: Array) -> Words:
        words = Words(len(records))
        words.add(positions, records)
        return words

    def add(self, positions: Array, records: Array) -> None:
        """Adds records of shape (n,) behind the others."""
        rows = records.view("<u8").reshape(len(records), _WORDS)
        self._positions[self._count : self._count + len(rows)] = positions
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            at = self._count + start
            self._columns[:, at : at + len(block)] = block.T
        self._count += len(rows)
        self._tensors = None

    def clear(self) -> None:
        """Forgets the records and keeps the memory, which costs more than filling it."""
        self._count = 0
        self._tensors = None

    def __len__(self) -> int:
        return self._count

    def positions(self) -> Array:
        return self._positions[: self._count]

    def column(self, word: int) -> Array:
        """A word of all records, u64 of shape (n,)."""
        found: Array = self._columns[word, : self._count]
        return found

    def field(self, name: str) -> Array:
        """One of HEADER_FIELDS of all records, of shape (n,). A view, whose elements are eight bytes apart."""
        kind, offset = HEADER_FIELDS[name]
        size = numpy.dtype(kind).itemsize
        found: Array = self.column(offset // 8).view(kind)[offset % 8 // size :: 8 // size]
        return found

    def tensors(self) -> tuple[Array, Array]:
        """The distinct tensors as node << 16 | slot, ascending, and for each record its tensor's index among them."""
        if self._tensors is None:
            self._tensors = _distinct(self.field("node"), self.field("slot"))
        return self._tensors


class TableMaker:
    """Makes tables of the records of one rank."""

    def __init__(self, nodes: NodeTable, steps: StepIndex) -> None:
        self._nodes = nodes
        self._steps = steps
        self._pa = load("pyarrow", "a table of a run")

    def table(self, kind: int, words: Words) -> Any:
        """The pyarrow.Table of records of one kind: statistics or changes."""
        return next(self.tables(kind, words, max(1, len(words))))

    def tables(self, kind: int, words: Words, rows: int) -> Iterator[Any]:
        """The same table in parts of at most `rows` rows; at least one part."""
        step, mode, passes = words.column(1), words.field("mode"), words.field("pass")
        mode_step = self._steps.mode_steps_of(step, mode, passes)
        distinct, codes = words.tensors()
        names = [f"{self._nodes.name(int(key) >> 16)}:{int(key) & 0xFFFF}" for key in distinct]
        # Nodes of different graphs may have the same name.
        sorted_names = sorted(set(names))
        number = {name: index for index, name in enumerate(sorted_names)}
        name_codes = numpy.array([number[name] for name in names], "<u4")[codes]
        categories = numpy.array([CATEGORIES.index(self._nodes.category(int(key) >> 16)) for key in distinct], "<u4")
        order = _order(name_codes, mode, step, passes)
        for start in range(0, max(1, len(order)), rows):
            part = order[start : start + rows]
            columns = self._keys(words, part)
            columns["mode_step"] = mode_step[part]
            columns["tensor"] = self._dictionary(name_codes[part], sorted_names)
            columns["category"] = self._dictionary(categories[codes[part]], CATEGORIES)
            columns |= self._values(kind, words, part)
            arrays = [self._array(each) if isinstance(each, numpy.ndarray) else each for each in columns.values()]
            yield self._pa.Table.from_arrays(arrays, names=list(columns))

    def _keys(self, words: Words, order: Array) -> dict[str, Any]:
        identity, placed = words.column(2)[order], words.column(3)[order]
        return {
            "position": words.positions()[order].view("<i8"),
            "step": words.column(1)[order].view("<i8"),
            "mode_step": None,
            "mode": (identity >> 56).astype("i1"),
            "dtype": (identity >> 48 & 0xFF).astype("i1"),
            "pass": (placed >> 48).astype("<i4"),
            "iteration": (placed >> 32 & 0xFFFF).astype("<i4"),
            "exec_order": (placed & 0xFFFFFFFF).astype("<u4").view("<i4"),
            "flags": (words.column(0)[order] >> 48).astype("<i4"),
        }

    def _dictionary(self, codes: Array, words: Sequence[str]) -> Any:
        indices = self._array(numpy.ascontiguousarray(codes).view("<i4"))
        return self._pa.DictionaryArray.from_arrays(indices, self._pa.array(words, self._pa.string()))

    def _values(self, kind: int, words: Words, order: Array) -> dict[str, Any]:
        columns: dict[str, Any] = {}
        word = 4
        for name in COUNT_COLUMNS[kind]:
            columns[name] = words.column(word)[order].view("<i8")
            word += 1
        if kind == STATISTICS_KIND:
            nonfinite = columns["nan_count"] + columns["pos_inf_count"] + columns["neg_inf_count"]
            columns = {"nonfinite_count": nonfinite} | columns
        for name in MEASURE_COLUMNS[kind]:
            columns[name] = self._measure(words.column(word)[order].view("<f8"))
            word += 1
        for name in _AFTER[kind]:
            columns[name] = words.column(word)[order].view("<i8")
            word += 1
        if kind == STATISTICS_KIND:
            columns["grad_scale"] = self._measure(words.column(word)[order].view("<f8"))
        return columns

    def _measure(self, values: Array) -> Any:
        absent = numpy.isnan(values)
        return self._array(values, absent if absent.any() else None)

    def _array(self, values: Array, absent: Array | None = None) -> Any:
        """An Arrow array without a copy. `pyarrow.array` would import pandas."""
        valid = None if absent is None else self._pa.py_buffer(numpy.packbits(~absent, bitorder="little"))
        kind = self._pa.from_numpy_dtype(values.dtype)
        content = self._pa.py_buffer(numpy.ascontiguousarray(values))
        return self._pa.Array.from_buffers(kind, len(values), [valid, content])


def unfaithful(kind: int, words: Words, nodes: NodeTable) -> Array:
    """Which records a table cannot restore to the byte; a bool for each."""
    first = 4 + len(COUNT_COLUMNS[kind])
    wrong = numpy.zeros(len(words), bool)
    for word in range(first, first + len(MEASURE_COLUMNS[kind])):
        column = words.column(word)
        nan = numpy.isnan(column.view("<f8"))
        if nan.any():
            wrong |= nan & (column != _NAN_BITS)
    used = first + len(MEASURE_COLUMNS[kind]) + len(_AFTER[kind])
    for word in range(used, _WORDS - (kind == STATISTICS_KIND)):
        # Fields of a later version of the format.
        wrong |= words.column(word) != 0
    if kind == STATISTICS_KIND:
        scale = words.column(_WORDS - 1)
        # A dictionary has one entry for all NaNs, and may have one for both zeros.
        wrong |= numpy.isnan(scale.view("<f8")) | (scale == 1 << 63)
    distinct, codes = words.tensors()
    ambiguous = [nodes.id_of(nodes.name(int(key) >> 16)) != int(key) >> 16 for key in distinct]
    if any(ambiguous):
        wrong |= numpy.array(ambiguous, bool)[codes]
    return wrong


def records_of(kind: int, table: Any, nodes: NodeTable) -> tuple[Array, Array]:
    """The records of a table and their positions, both of shape (n,), in the order of the table's rows.

    Raises:
        ValueError: A tensor is not in the graph, or a number is out of range.
    """
    columns = {name: _numpy(table, name) for name in table.column_names if name not in ("tensor", "category", "rank")}
    records = numpy.zeros(table.num_rows, CHANGE if kind == CHANGE_KIND else RECORD)
    records["kind"] = kind
    for name in KEY_COLUMNS[1:]:
        if name != "mode_step":
            records[name] = columns[name].astype(records.dtype[name], copy=False)
    records["node"], records["slot"] = _tensors(table, nodes)
    counts = (*COUNT_COLUMNS[kind], *_AFTER[kind])
    for name in counts:
        records[name] = columns[name].astype("<i8", copy=False).view("<u8")
    for name in MEASURE_COLUMNS[kind]:
        records[name] = columns[name]
    if kind == STATISTICS_KIND:
        records["grad_scale"] = columns["grad_scale"]
    positions = columns["position"].view("<u8")
    records["crc"] = crcs_at(records, positions)
    return positions, records.view(RECORD)


def _numpy(table: Any, name: str) -> Array:
    # A copy, because Arrow's buffers are read-only and may contain nulls, which become NaN.
    found: Array = numpy.ascontiguousarray(table.column(name).to_numpy())
    return found


def _tensors(table: Any, nodes: NodeTable) -> tuple[Array, Array]:
    """The node and the slot of each row."""
    column = table.column("tensor").combine_chunks()
    if not hasattr(column, "dictionary"):
        column = column.dictionary_encode()
    if hasattr(column, "unify_dictionaries"):
        column = column.unify_dictionaries()
    names = [str(name) for name in column.dictionary.to_pylist()]
    parts = [split_tensor(name) for name in names]
    ids = [nodes.id_of(name) for name, _ in parts]
    unknown = [name for name, number in zip(names, ids, strict=True) if number is None or number >= 1 << 32]
    if unknown:
        raise ValueError(f"tensor {unknown[0]} is not in the graph")
    indices = column.indices.to_numpy(zero_copy_only=False)
    return numpy.array(ids, "<u4")[indices], numpy.array([slot for _, slot in parts], "<u2")[indices]


def _distinct(nodes: Array, slots: Array) -> tuple[Array, Array]:
    """The distinct pairs as node << 16 | slot, ascending, and for each pair its index among them."""
    if not len(nodes):
        return numpy.empty(0, "<u8"), numpy.empty(0, "<u4")
    width = int(slots.max()) + 1
    size = (int(nodes.max()) + 1) * width
    if size > _LARGEST_TABLE_OF_KEYS:
        distinct, codes = numpy.unique(nodes.astype("<u8") << numpy.uint64(16) | slots, return_inverse=True)
        return distinct, codes.astype("<u4")
    keys = nodes.astype(numpy.intp)
    keys *= width
    keys += slots
    present = numpy.zeros(size, bool)
    present[keys] = True
    found = numpy.flatnonzero(present).astype("<u8")
    code = numpy.empty(size, "<u4")
    code[found] = numpy.arange(len(found), dtype="<u4")
    return found // width << numpy.uint64(16) | found % width, code[keys]


def _order(codes: Array, modes: Array, steps: Array, passes: Array) -> Array:
    """The order of rows by tensor, mode, step and pass; rows that agree in these keep their order."""
    if len(modes) and modes.max() >= len(MODES):
        return numpy.lexsort((passes, steps, modes, codes))
    # Of the common case of a single mode, nothing is copied.
    found = [slice(None)] if _same(modes) else [modes == mode for mode in range(len(MODES))]
    if not all(_ascending(steps[each], passes[each]) for each in found):
        return numpy.lexsort((passes, steps, modes, codes))
    streams = codes << numpy.uint32(2) | modes
    if not len(codes) or streams.max() < 1 << 16:
        # Numbers of 16 bits are sorted by their digits, in a fraction of the time.
        return numpy.argsort(streams.astype("<u2"), kind="stable")
    # Sorting numbers that contain their index is several times as fast as sorting indices.
    numbered = streams.astype("<u8") << numpy.uint64(32) | numpy.arange(len(codes), dtype="<u8")
    numbered.sort()
    return (numbered & 0xFFFFFFFF).astype(numpy.intp)


def _same(values: Array) -> bool:
    return bool((values == values[:1]).all())


def _ascending(steps: Array, passes: Array) -> bool:
    return bool(((steps[1:] > steps[:-1]) | ((steps[1:] == steps[:-1]) & (passes[1:] >= passes[:-1]))).all())
