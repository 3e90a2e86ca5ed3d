"""A function of the program that is followed."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Sequence
from typing import Any

from .. import _c_api
from .._agent import Agent, NodeDeclaration
from . import structure, taps
from .program import Argument, Made, Producer, Program
from .values import HostArray, describe


class Followed:
    def __init__(self, agent: Agent, program: Program, graph: str, first_order: int) -> None:
        """Declares the program's nodes, which execute from this place on. Raises TooLarge."""
        self._agent = agent
        self.program = program
        self._graph = graph
        # The agent's numbers.
        self.arguments = [self._declare_argument(each) for each in program.arguments]
        self.constants = [self._declare_argument(each) for each in program.constants]
        self.ops: list[int] = []
        for order, op in enumerate(program.ops, first_order):
            self.ops.append(
                agent.declare(
                    NodeDeclaration(
                        graph=graph,
                        name=op.name,
                        category=_CATEGORIES[op.stage],
                        op_type=op.primitive,
                        stack=op.stack,
                        inputs=[self.edge(each) for each in op.inputs],
                        outputs=_outputs(op.avals),
                        forward_node=self.ops[op.forward] if op.forward is not None else 0,
                        order=order,
                    )
                )
            )
        # Copies with taps, by the numbers of these. The function has other jaxprs if it is traced again.
        self._copies: weakref.WeakKeyDictionary[Any, dict[tuple[frozenset[int], bool], Any]]
        self._copies = weakref.WeakKeyDictionary()
        self._state: dict[int, weakref.ref[Any]] = {}
        self._resolved: dict[int, HostArray] = {}
        for argument in program.role.state:
            agent.bind(self.arguments[argument], lambda argument=argument: self._describe_state(argument))
        # Why its values are not looked into; None if they are.
        self.why_opaque: str | None = None
        # The name that the program gives the function, and the types of its outputs.
        self.called = program.name
        self.output_types: list[Any] = []
        # Whether the copy's outputs have been compared, and whether the user knows of values that were not kept.
        self.compared = False
        self.told_omitted = False

    def _declare_argument(self, argument: Argument) -> int:
        return self._agent.declare(
            NodeDeclaration(
                graph=self._graph,
                name=argument.name,
                kind=argument.kind,
                category=argument.category,
                outputs=_outputs([argument.aval]),
            )
        )

    def edge(self, producer: Producer) -> tuple[int, int]:
        """The agent's number of the producer's node, and the slot."""
        if isinstance(producer, Made):
            return self.ops[producer.op], producer.slot
        return (self.constants if producer.constant else self.arguments)[producer.number], 0

    def copy(self, closed: Any, wanted: Collection[int], passes: bool) -> Any:
        """The function with taps of the values with these numbers."""
        copies = self._copies.setdefault(closed, {})
        key = (frozenset(wanted), passes)
        if key not in copies:
            copies[key] = taps.with_taps(closed, key[0], passes)
        return copies[key]

    # ---- state

    def set_state(self, argument: int, array: Any) -> None:
        """The value of an argument that calls of the function change."""
        self._resolved.pop(argument, None)
        try:
            self._state[argument] = weakref.ref(array)
        except TypeError:
            # Numbers and arrays of NumPy are no state that JAX has made.
            self._state.pop(argument, None)

    def _describe_state(self, argument: int) -> Any:
        reference = self._state.get(argument)
        array = reference() if reference is not None else None
        if array is None or not structure.is_plain(self.program.arguments[argument].aval):
            return None
        if getattr(array, "is_deleted", lambda: False)():
            return None
        # Kept, since the agent reads it after this has returned.
        found = self._resolved[argument] = HostArray(array)
        return describe(found.dtype, found.shape, found.address)


_CATEGORIES = {"forward": "activation", "backward": "gradient", "optimizer": "optimizer"}


def _outputs(avals: Sequence[Any]) -> list[_c_api.Tensor]:
    return [
        describe(aval.dtype, [int(size) for size in aval.shape]) if hasattr(aval, "dtype") else describe("other", [])
        for aval in avals
    ]
