"""What an expression has as its value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from graphdbg.client.models import HistoryPoint, Statistics

if TYPE_CHECKING:
    from graphdbg.client.arrays import Array


class TensorView(Protocol):
    """A tensor, or the slice of one that an expression names. Values are read when they are asked for.

    Attributes:
        name: The full name, NODE:SLOT.
        dtype: As NumPy and ml_dtypes name it.
        shape: Of the slice.
        slice: The slice of the whole tensor as NumPy writes it, such as "[0,:,10:20]"; "" for all of it.
        step: "current", "previous" or a number.
        rank: Of which rank it is.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    slice: str
    step: str
    rank: int

    def statistics(self) -> Statistics:
        """Of the whole tensor, or of the slice, which must then be small enough to read."""

    def history(self) -> list[HistoryPoint]:
        """The known statistics of the whole tensor, by step."""

    def read(self, slice: str = "") -> Array:
        """The elements, or those of a slice of this slice, such as "[0:10]"; at most 256 MiB."""

    def children(self, start: int = 0, count: int = 100) -> list[TensorView]:
        """The parts along the first dimension from `start` on; none of a scalar."""


@dataclass(frozen=True)
class Value:
    """The value of an expression.

    Attributes:
        text: One line for people; not escaped.
        type: "float32[2, 3]" of a tensor, "float", "int" or "bool" of a number.
        name: What was asked for: the full name of the tensor where there is one, else the expression.
        tensor: None for a number.
        number: None for a tensor.
        step, rank: Where the value is from.
    """

    text: str
    type: str
    name: str
    tensor: TensorView | None = None
    number: float | bool | None = None
    step: int | None = None
    rank: int = 0
