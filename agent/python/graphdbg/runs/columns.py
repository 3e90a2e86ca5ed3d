"""Records of statistics and changes as Arrow tables, and back.

A table has a row for each record, in the order of its tensor's name, mode, step and pass.
Rows keep the position of their record, from which `unpack` restores the log. What a table
cannot hold is named beside it: NaNs that are not the usual one, and names that do not
lead back to their node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from .crc32c import crcs_at
from .graph import NodeTable, split_tensor
from .memory import memory_for
from .packages import load
from .record import (
    CHANGE,
    CHANGE_KIND,
    CHANGE_MEASURES,
    COUNTS,
    HEADER_FIELDS,
    HEADER_SIZE,
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
_HEADER_WORDS = HEADER_SIZE // 8
_NAN_BITS = 0x7FF8000000000000
# Records that stay in the cache while they become columns.
_BLOCK = 1024
_LARGEST_TABLE_OF_KEYS = 1 << 26

_ROW_KEYS = ("kind", "step", "mode", "pass", "node", "slot")

# By kind: the 64-bit fields from offset 32 on, in order.
COUNT_COLUMNS = {
    STATISTICS_KIND: COUNTS,
    CHANGE_KIND: ("count", "finite_count", "digest"),
}
MEASURE_COLUMNS = {STATISTICS_KIND: MEASURES, CHANGE_KIND: CHANGE_MEASURES}
_AFTER = {STATISTICS_KIND: (), CHANGE_KIND: ("changed_count", "compared_step")}
KEY_COLUMNS = ("position", "step", "mode_step", "mode", "dtype", "pass", "iteration", "exec_order", "flags")


class Rows:
    """Records of any kinds in the order in which they were added, with their positions: what tables are made of.

    Args:
        capacity: The largest number of records.

    Attributes:
        keys: By name, the fields that order the rows of a table, and `kind`; of all records.
    """

    def __init__(self, capacity: int) -> None:
        self._positions = memory_for((capacity,), "<u8")
        self._words = memory_for((capacity, _WORDS), "<u8")
        # Again, because whole columns of these are looked at.
        self._keys = {name: memory_for((capacity,), HEADER_FIELDS[name][0]) for name in _ROW_KEYS}
        self._count = 0

    @staticmethod
    def of(positions: Array, records: Array) -> Rows:
        rows = Rows(len(records))
        rows.add(positions, records)
        return rows

    def add(self, positions: Array, records: Array) -> None:
        """Adds records of shape (n,) behind the others."""
        added = slice(self._count, self._count + len(records))
        self._positions[added] = positions
        self._words[added] = records.view("<u8").reshape(len(records), _WORDS)
        for name, column in self._keys.items():
            column[added] = records[name]
        self._count += len(records)

    def clear(self) -> None:
        """Forgets the records and keeps the memory, which costs more than filling it."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def keys(self) -> dict[str, Array]:
        return {name: column[: self._count] for name, column in self._keys.items()}

    def positions(self, chosen: Array) -> Array:
        """The positions of some records, which are chosen by index; u64 of shape (n,)."""
        return self._positions[chosen]

    def records(self, chosen: Array) -> Array:
        """Some records, of shape (n,)."""
        found: Array = self._words[chosen].view(RECORD).reshape(-1)
        return found

    def columns(self, chosen: Array, out: Array) -> Array:
        """The words of some records as columns, u64 of shape (words, n), in the memory of `out`."""
        block = numpy.empty((_BLOCK, _WORDS), "<u8")
        for start in range(0, len(chosen), _BLOCK):
            part = chosen[start : start + _BLOCK]
            # Whole records first, each of which is in one place. `wrap` is the mode that needs no copy of the result.
            self._words.take(part, axis=0, out=block[: len(part)], mode="wrap")
            out[:, start : start + len(part)] = block[: len(part)].T
        return out[:, : len(chosen)]


@dataclass(frozen=True)
class TablePart:
    """A part of a table.

    Attributes:
        table: A pyarrow.Table, whose memory the next part uses again.
        unfaithful: The records that it cannot restore to the byte, by index.
    """

    table: Any
    unfaithful: Array


class TableMaker:
    """Makes tables of the records of one rank."""

    def __init__(self, nodes: NodeTable, steps: StepIndex) -> None:
        self._nodes = nodes
        self._steps = steps
        self._pa = load("pyarrow", "a table of a run")

    def table(self, kind: int, rows: Rows) -> Any:
        """The pyarrow.Table of the records of one kind: statistics or changes."""
        return next(self.parts(kind, rows, max(1, len(rows)))).table

    def parts(self, kind: int, rows: Rows, size: int) -> Iterator[TablePart]:
        """The same table in parts of at most `size` rows; at least one part."""
        chosen = numpy.flatnonzero(rows.keys["kind"] == kind)
        node, slot, step, mode, passes = (rows.keys[name][chosen] for name in ("node", "slot", "step", "mode", "pass"))
        distinct, codes = _distinct(node, slot)
        tensors = _Tensors(distinct, self._nodes)
        mode_step = self._steps.mode_steps_of(step, mode, passes)
        order = _order(tensors.name_codes[codes], mode, step, passes)
        memory = memory_for((_WORDS, min(size, len(order))), "<u8")
        for start in range(0, max(1, len(order)), size):
            part = order[start : start + size]
            index = chosen[part]
            words = rows.columns(index, memory)
            columns = _keys(words)
            columns["position"] = rows.positions(index).view("<i8")
            columns["mode_step"] = mode_step[part]
            of_tensors = codes[part]
            columns |= self._named(tensors, of_tensors)
            columns |= self._values(kind, words)
            arrays = [self._array(each) if isinstance(each, numpy.ndarray) else each for each in columns.values()]
            wrong = tensors.ambiguous[of_tensors] | _unfaithful(kind, words)
            yield TablePart(self._pa.Table.from_arrays(arrays, names=list(columns)), index[wrong])

    def _named(self, tensors: _Tensors, codes: Array) -> dict[str, Any]:
        """The columns `tensor` and `category` of rows in the order of their tensors' names."""
        names = tensors.name_codes[codes]
        first, last = (int(names[0]), int(names[-1])) if len(names) else (0, -1)
        return {
            # Without the names of other parts.
            "tensor": self._dictionary(names - numpy.uint32(first), tensors.sorted_names[first : last + 1]),
            "category": self._dictionary(tensors.categories[codes], CATEGORIES),
        }

    def _dictionary(self, codes: Array, words: Sequence[str]) -> Any:
        indices = self._array(codes.view("<i4"))
        return self._pa.DictionaryArray.from_arrays(indices, self._pa.array(words, self._pa.string()))

    def _values(self, kind: int, words: Array) -> dict[str, Any]:
        columns: dict[str, Any] = {}
        word = _HEADER_WORDS
        for name in COUNT_COLUMNS[kind]:
            columns[name] = words[word].view("<i8")
            word += 1
        if kind == STATISTICS_KIND:
            nonfinite = columns["nan_count"] + columns["pos_inf_count"] + columns["neg_inf_count"]
            columns = {"nonfinite_count": nonfinite} | columns
        for name in MEASURE_COLUMNS[kind]:
            columns[name] = self._measure(words[word].view("<f8"))
            word += 1
        for name in _AFTER[kind]:
            columns[name] = words[word].view("<i8")
            word += 1
        if kind == STATISTICS_KIND:
            columns["grad_scale"] = self._measure(words[word].view("<f8"))
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


class _Tensors:
    """What a table says about tensors, for each of these; they are given as node << 16 | slot.

    Attributes:
        sorted_names: The distinct names.
        name_codes: The index of each tensor's name among these, u32.
        categories: The index of its category, u32.
        ambiguous: Whether its name does not lead back to its node.
    """

    def __init__(self, distinct: Array, nodes: NodeTable) -> None:
        keys = [(key >> 16, key & 0xFFFF) for key in distinct.tolist()]
        of_nodes = [nodes.name(node) for node, _ in keys]
        names = [f"{name}:{slot}" for name, (_, slot) in zip(of_nodes, keys, strict=True)]
        # Nodes of different graphs may have the same name.
        self.sorted_names = sorted(set(names))
        number = {name: index for index, name in enumerate(self.sorted_names)}
        self.name_codes = numpy.array([number[name] for name in names], "<u4")
        self.categories = numpy.array([CATEGORIES.index(nodes.category(node)) for node, _ in keys], "<u4")
        self.ambiguous = numpy.array(
            [nodes.id_of(name) != node for name, (node, _) in zip(of_nodes, keys, strict=True)], bool
        )


def _keys(words: Array) -> dict[str, Any]:
    """The columns of the header, of which the caller fills in those that are None."""
    identity, placed = words[2].view("i1"), words[3].view("<u2")
    return {
        "position": None,
        "step": words[1].view("<i8"),
        "mode_step": None,
        "mode": identity[7::8],
        "dtype": identity[6::8],
        "pass": placed[3::4].astype("<i4"),
        "iteration": placed[2::4].astype("<i4"),
        "exec_order": words[3].view("<i4")[::2],
        "flags": words[0].view("<u2")[3::4].astype("<i4"),
    }


def _unfaithful(kind: int, words: Array) -> Array:
    """Which records a table cannot restore to the byte, whatever their tensors; a bool for each."""
    first = _HEADER_WORDS + len(COUNT_COLUMNS[kind])
    wrong = numpy.zeros(words.shape[1], bool)
    for word in words[first : first + len(MEASURE_COLUMNS[kind])]:
        nan = numpy.isnan(word.view("<f8"))
        if nan.any():
            wrong |= nan & (word != _NAN_BITS)
    used = first + len(MEASURE_COLUMNS[kind]) + len(_AFTER[kind])
    for word in words[used : _WORDS - (kind == STATISTICS_KIND)]:
        # Fields of a later version of the format.
        wrong |= word != 0
    if kind == STATISTICS_KIND:
        scale = words[_WORDS - 1]
        # A dictionary has one entry for all NaNs, and may have one for both zeros.
        wrong |= numpy.isnan(scale.view("<f8")) | (scale == 1 << 63)
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
