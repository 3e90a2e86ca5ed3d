"""A quantity of a round: its node, and the execution that is reported in each round."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from .. import _c_api
from .arrays import Array, describe, describe_in, packed, place_in


class Quantity:
    def __init__(self, number: int, producers: Sequence[Quantity]) -> None:
        """`number` is the node's, and `producers` are what it is computed from."""
        self.number = number
        self._producers = producers
        self._outputs: list[Any] = []
        # Their types and shapes, which are the same in nearly every round.
        self._forms: list[tuple[Any, tuple[int, ...]] | None] = []
        # The first value of the round.
        self.described = _NOTHING

    @functools.cached_property
    def _execution(self) -> Any:
        inputs = [_c_api.Input(node=each.number, slot=0) for each in self._producers]
        return _c_api.make_execution(self.number, 0, inputs, [], mode=_c_api.TRAIN)

    @functools.cached_property
    def _inputs(self) -> list[Any]:
        return [self._execution.inputs[place] for place in range(len(self._producers))]

    def describe(self, values: Sequence[Array], handles: Sequence[int]) -> None:
        """Describes the quantity's values in this round."""
        if len(values) != len(self._outputs):
            self._make_room(len(values))
        for place, (tensor, value, handle) in enumerate(zip(self._outputs, values, handles, strict=True)):
            form = (value.dtype, value.shape)
            if form == self._forms[place]:
                place_in(tensor, value, handle)
            else:
                self._forms[place] = form
                describe_in(tensor, value, handle)
        self.described = self._outputs[0]

    def execution(self, flags: int = 0) -> Any:
        """The execution that has these values. Always the same structure, since making one takes longer."""
        for place, producer in zip(self._inputs, self._producers, strict=True):
            place.tensor = producer.described
        self._execution.flags = flags
        return self._execution

    def end_round(self) -> None:
        self.described = _NOTHING

    def _make_room(self, count: int) -> None:
        array = (_c_api.Tensor * count)(*(_c_api.sized(_c_api.Tensor) for _ in range(count)))
        self._outputs = list(array)
        self._forms = [None] * count
        self._execution.outputs = array
        self._execution.output_count = count


_NOTHING = describe(packed([]))
