"""Runs a copy of a function with taps, and reports what its equations have computed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .. import _c_api
from .._agent import Agent
from . import structure
from .followed import Followed
from .program import Given, Made, Producer
from .tap_library import TapLibrary, Tapped
from .values import HostArray, describe, empty


class Look:
    """One look into one call."""

    def __init__(
        self,
        agent: Agent,
        library: Callable[[], TapLibrary],
        followed: Followed,
        run: Callable[[Any], Any],
        closed: Any,
        arguments: Sequence[Any],
    ) -> None:
        """`run` calls a closed jaxpr in place of the function, and waits for its outputs.

        `library`, which may have to be compiled, is asked for only if values are needed.
        """
        self._agent = agent
        self._library = library
        self._followed = followed
        self._run = run
        self._closed = closed
        self._arguments = arguments
        self._given: dict[Given, Any] = {}
        self._values: dict[int, list[Tapped]] = {}
        self._handles: dict[Tapped, Any] = {}
        self._mode = _c_api.TRAIN if followed.program.role.trains else _c_api.EVAL
        self._passes = followed.program.shards or any(_is_sharded(each) for each in arguments)
        # What the call of the copy has returned; None if it has not run.
        self.result: Any = None

    def report(self) -> None:
        """Reports all executions that the agent is interested in. May wait, and raise Terminated."""
        try:
            self._report_inputs()
            self._report_ops()
        finally:
            for description in self._handles.values():
                self._agent.forget(description.owner)

    # ---- arguments

    def _report_inputs(self) -> None:
        for number, node in enumerate(self._followed.arguments):
            argument = self._followed.program.arguments[number]
            if argument.kind == "input" and self._agent.interest(node):
                description = self._describe_given(Given(number))
                if description.data:
                    self._agent.executed(node, _c_api.GIVEN, [], [description], self._mode)

    def _describe_given(self, given: Given) -> Any:
        if given not in self._given:
            program = self._followed.program
            argument = (program.constants if given.constant else program.arguments)[given.number]
            array = (self._closed.consts if given.constant else self._arguments)[given.number]
            if structure.is_plain(argument.aval):
                value = HostArray(array)
                # The handle is never given back to JAX, so the array stays as long as the look.
                self._given[given] = value, describe(value.dtype, value.shape, value.address)
            else:
                self._given[given] = None, empty()
        return self._given[given][1]

    # ---- ops

    def _report_ops(self) -> None:
        interest = self._interest_from(0)
        wanted = self._wanted(interest)
        if not wanted:
            return
        self._collect(wanted)
        waits = self._agent.waits
        for number, first, last, iteration in self._executions():
            if self._agent.waits != waits:
                # The user may have asked for other nodes.
                waits = self._agent.waits
                interest[number:] = self._interest_from(number)
                missing = self._wanted(interest) - wanted
                if missing and any(tap not in self._values for tap in missing):
                    wanted |= missing
                    self._collect(wanted)
            if interest[number]:
                self._report(number, first, last, iteration)

    def _interest_from(self, number: int) -> list[int]:
        return [self._agent.interest_in(node) for node in self._followed.ops[number:]]

    def _wanted(self, interest: Sequence[int]) -> set[int]:
        """The numbers of the values to copy: of required ops and their inputs, or of all if most are required."""
        ops = self._followed.program.ops
        required = [number for number, level in enumerate(interest) if level == _c_api.INTEREST_REQUIRED]
        if not required:
            return set()
        chosen = set(required)
        if 2 * len(required) > len(ops):
            chosen = {number for number, level in enumerate(interest) if level}
        chosen |= {each.op for number in chosen for each in ops[number].inputs if isinstance(each, Made)}
        return {tap for number in chosen for tap in ops[number].taps if tap is not None}

    def _collect(self, wanted: set[int]) -> None:
        copy = self._followed.copy(self._closed, wanted, self._passes)

        def run() -> None:
            begin = time.perf_counter_ns()
            self.result = self._run(copy)
            # The first time, it is compiled, which says nothing about later ones.
            if copy in self._followed.compiled:
                self._agent.add_repetition(time.perf_counter_ns() - begin)
            self._followed.compiled.add(copy)

        self._values, omitted = self._library().collect(run)
        if self._passes:
            self._values = {tap: _distinct(values) for tap, values in self._values.items()}
        if omitted and not self._followed.told_omitted:
            self._followed.told_omitted = True
            name = self._followed.program.name
            self._agent.notify(f"{name}: a loop has too many iterations to keep all values; the first ones are shown")

    def _executions(self) -> Iterator[tuple[int, int, int, int]]:
        """Yields ops in the order of the program: their number, the first and last run, and the iteration."""
        ops = self._followed.program.ops
        begin = 0
        while begin < len(ops):
            end = begin + 1
            if not ops[begin].loop:
                yield begin, 1, 1 << 60, 0
            else:
                while end < len(ops) and ops[end].loop == ops[begin].loop:
                    end += 1
                yield from self._iterations(begin, end)
            begin = end

    def _iterations(self, begin: int, end: int) -> Iterator[tuple[int, int, int, int]]:
        runs = {number: self._runs(number) for number in range(begin, end)}
        iterations = min((count for count in runs.values() if count), default=0)
        # Inner loops run several times in an iteration of the outermost one.
        times = {number: max(1, count // iterations) for number, count in runs.items() if count}
        for iteration in range(1, max(runs.values(), default=0) + 1):
            for number, count in times.items():
                first = (iteration - 1) * count + 1
                if first <= runs[number]:
                    yield number, first, iteration * count, iteration

    def _runs(self, number: int) -> int:
        taps = self._followed.program.ops[number].taps
        return max((self._values[tap][-1].iteration for tap in taps if tap in self._values), default=0)

    def _report(self, number: int, first: int, last: int, iteration: int) -> None:
        op = self._followed.program.ops[number]
        columns = [self._within(tap, first, last) for tap in op.taps]
        for values in zip(*(column or [None] for column in columns), strict=False):
            if all(value is None for value in values):
                continue
            outputs = [self._describe(value) for value in values]
            inputs = [self._input(each, last) for each in op.inputs]
            flags = _c_api.MOVES_VALUES if op.primitive in structure.MOVES_VALUES else 0
            if op.is_written:
                flags |= _c_api.UNINITIALIZED | _c_api.EXPLICIT_NONFINITE
            self._agent.executed(self._followed.ops[number], flags, inputs, outputs, self._mode, iteration)

    def _within(self, tap: int | None, first: int, last: int) -> list[Tapped | None]:
        values = self._values.get(tap, []) if tap is not None else []
        return [value for value in values if first <= value.iteration <= last]

    def _describe(self, value: Tapped | None) -> Any:
        if value is None:
            return empty()
        if value not in self._handles:
            self._handles[value] = describe(value.dtype, value.shape, value.address, self._agent.new_handle(value))
        return self._handles[value]

    def _input(self, producer: Producer, last: int) -> Any:
        node, slot = self._followed.edge(producer)
        return _c_api.Input(node=node, slot=slot, tensor=self._describe_input(producer, last))

    def _describe_input(self, producer: Producer, last: int) -> Any:
        if isinstance(producer, Given):
            return self._describe_given(producer)
        tap = self._followed.program.ops[producer.op].taps[producer.slot]
        values = self._values.get(tap, []) if tap is not None else []
        before = [value for value in values if value.iteration <= last] or values
        return self._describe(before[-1] if before else None)


def _is_sharded(array: Any) -> bool:
    sharding = getattr(array, "sharding", None)
    return sharding is not None and len(sharding.device_set) > 1


def _distinct(values: Sequence[Tapped]) -> list[Tapped]:
    """Values without repetitions: each device has its own, and most are the same."""
    return list({value.content(): value for value in reversed(values)}.values())[::-1]
