"""Tensors of jobs and runs, and computed arrays, as TensorView."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from graphdbg.client.errors import ApiError, ValueGoneError
from graphdbg.client.jobs import Job
from graphdbg.client.models import HistoryPoint, Statistics

from .array_statistics import statistics_of
from .errors import DebuggerError
from .expressions import parse_slice
from .values import TensorView

if TYPE_CHECKING:
    from graphdbg.client.arrays import Array

# Elements that are read at once: 64 MiB of float32.
MAX_ELEMENTS = 1 << 24


class JobTensor:
    """A tensor of a live job or a recorded run, or a slice of one."""

    def __init__(
        self,
        job: Job,
        name: str,
        dtype: str,
        shape: tuple[int, ...],
        step: str | None = None,
        rank: int = 0,
        slice: str = "",
    ) -> None:
        """
        Args:
            name: NODE:SLOT.
            shape: Of the whole tensor.
            step: None: where the job stands.
            slice: As NumPy writes it; "" for all of it.
        """
        self.name = name
        self.dtype = dtype
        self.shape = sliced_shape(shape, slice) if slice else shape
        self.slice = slice
        self.step = step or "current"
        self.rank = rank
        self._job = job
        self._whole_shape = shape
        self._at_step = step

    def statistics(self) -> Statistics:
        if self.slice:
            return statistics_of(self.read())
        try:
            return self._job.tensor_statistics(self.name, step=self._at_step, rank=self.rank)
        except ApiError as error:
            raise _value_error(error) from None

    def history(self) -> list[HistoryPoint]:
        return self._job.history(self.name, rank=self.rank)

    def read(self, slice: str = "") -> Array:
        if slice and self.slice:
            # Two slices, one after the other: the second is of what is read.
            part: Array = self.read()[parse_slice(slice)]
            return part
        wanted = slice or self.slice
        shape = sliced_shape(self._whole_shape, wanted) if wanted else self._whole_shape
        check_size(self.name, shape)
        try:
            return self._job.tensor(self.name, step=self._at_step, rank=self.rank, slice=wanted or None)
        except ApiError as error:
            single = self._single() if math.prod(self._whole_shape) == 1 else None
            if single is None:
                raise _value_error(error) from None
            return single.reshape(shape)

    def _single(self) -> Array | None:
        """The only element, of which the statistics tell the value, such as a loss; None if they are not known."""
        import numpy

        try:
            found = self.statistics()
        except DebuggerError:
            return None
        if found.nan_count:
            return numpy.asarray(math.nan)
        if found.pos_inf_count or found.neg_inf_count:
            return numpy.asarray(math.inf if found.pos_inf_count else -math.inf)
        if found.min is None:
            return None
        return numpy.asarray(found.min if "float" in self.dtype else int(found.min))

    def children(self, start: int = 0, count: int = 100) -> list[TensorView]:
        if not self.shape:
            return []
        numbers = range(start, min(start + count, self.shape[0]))
        return [
            JobTensor(self._job, self.name, self.dtype, self._whole_shape, self._at_step, self.rank, self._part(number))
            for number in numbers
        ]

    def _part(self, number: int) -> str:
        """The slice of the whole tensor for one place along the first dimension of this one."""
        if not self.slice:
            return f"[{number}]"
        parts = expanded(parse_slice(self.slice), len(self._whole_shape))
        for place, part in enumerate(parts):
            if isinstance(part, type(_ALL)):
                parts[place] = range(*part.indices(self._whole_shape[place]))[number]
                break
        return slice_text(parts)


class ArrayTensor:
    """A computed array."""

    def __init__(self, name: str, array: Array, rank: int = 0, step: str = "current") -> None:
        self.name = name
        self.dtype = str(array.dtype)
        self.shape: tuple[int, ...] = tuple(array.shape)
        self.slice = ""
        self.step = step
        self.rank = rank
        self._array = array

    def statistics(self) -> Statistics:
        return statistics_of(self._array)

    def history(self) -> list[HistoryPoint]:
        raise DebuggerError(f"{self.name} is computed here and has no history")

    def read(self, slice: str = "") -> Array:
        return self._array[parse_slice(slice)] if slice else self._array

    def children(self, start: int = 0, count: int = 100) -> list[TensorView]:
        if not self.shape:
            return []
        numbers = range(start, min(start + count, self.shape[0]))
        return [
            ArrayTensor(f"{self.name}[{number}]", self._array[number : number + 1].reshape(self.shape[1:]), self.rank)
            for number in numbers
        ]


_ALL = slice(None)


def check_size(name: str, shape: tuple[int, ...]) -> None:
    """Raises DebuggerError if a tensor has more elements than can be looked at."""
    if math.prod(shape) > MAX_ELEMENTS:
        raise DebuggerError(
            f"{name} has {math.prod(shape):,} elements, more than {MAX_ELEMENTS:,}: name a slice, such as {name}[0]"
        )


def sliced_shape(shape: tuple[int, ...], text: str) -> tuple[int, ...]:
    """The shape of a slice. Raises DebuggerError if the tensor has no such slice."""
    parts = expanded(parse_slice(text), len(shape))
    if len(parts) > len(shape):
        raise DebuggerError(f"{text} has {len(parts)} dimensions, and the tensor has {len(shape)}")
    sizes = []
    for part, size in zip(parts, shape, strict=True):
        if isinstance(part, int):
            if not -size <= part < size:
                raise DebuggerError(f"{text}: there is no element {part} among {size}")
        else:
            sizes.append(len(range(*part.indices(size))))
    return tuple(sizes)


def expanded(index: tuple[object, ...], dimensions: int) -> list[int | slice]:
    """An index with one entry for each dimension."""
    parts: list[int | slice] = [part for part in index if isinstance(part, (int, slice))]
    place = index.index(...) if ... in index else len(parts)
    return [*parts[:place], *[_ALL] * (dimensions - len(parts)), *parts[place:]]


def slice_text(parts: list[int | slice]) -> str:
    """An index as NumPy writes it."""
    return f"[{','.join(str(part) if isinstance(part, int) else _bounds(part) for part in parts)}]"


def _bounds(part: slice) -> str:
    text = f"{'' if part.start is None else part.start}:{'' if part.stop is None else part.stop}"
    return text if part.step is None else f"{text}:{part.step}"


def _value_error(error: ApiError) -> DebuggerError:
    if isinstance(error, ValueGoneError):
        return DebuggerError(f'{error}; "catch" keeps it at the next step')
    return DebuggerError(str(error))
