"""A function of the program that is followed."""

from __future__ import annotations

import contextlib
import ctypes
import weakref
from collections.abc import Callable, Collection, Sequence
from typing import Any

from .. import _c_api
from .._agent import Agent, NodeDeclaration
from . import structure, taps
from .program import Argument, Made, Op, Producer, Program
from .results import Results
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
                        forward_node=self._forward_of(op),
                        order=order,
                    )
                )
            )
        # Copies with taps, by the numbers of these. The function has other jaxprs if it is traced again.
        self._copies: weakref.WeakKeyDictionary[Any, dict[tuple[frozenset[int], bool], Any]]
        self._copies = weakref.WeakKeyDictionary()
        # Those that have run.
        self.compiled: weakref.WeakSet[Any] = weakref.WeakSet()
        # The arguments that calls change: the arrays while the agent may read them, or a function that finds them;
        # references at other times, because the program may free or donate them.
        self._arrays: dict[int, Any] | Callable[[], dict[int, Any]] = {}
        self._references: dict[int, weakref.ref[Any]] = {}
        self._resolved: dict[int, HostArray] = {}
        for argument in program.role.state:
            agent.bind(self.arguments[argument], lambda argument=argument: self._describe_state(argument))
        state = [self.arguments[argument] for argument in program.role.state]
        self.state_nodes = (ctypes.c_uint32 * len(state))(*state)
        # Why its values are not looked into; None if they are.
        self.why_opaque: str | None = None
        # The name that the program gives the function, and the types of its outputs.
        self.called = program.name
        self.output_types: list[Any] = []
        # Tests the results of its calls; None until the types of its outputs are known.
        self.results: Results | None = None
        # Whether the copy's outputs have been compared, and whether the user knows of values that were not kept.
        self.compared = False
        self.told_omitted = False

    def _forward_of(self, op: Op) -> int:
        """The node that the op's gradient belongs to; 0 if it makes none."""
        if op.parameter is not None:
            return self.arguments[op.parameter]
        return self.ops[op.forward] if op.forward is not None else 0

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

    def record_loss(self, outputs: Sequence[Any]) -> None:
        """Records the first number that a function which trains returns beside its state."""
        role = self.program.role
        state = set(role.state.values())
        for number, output in enumerate(outputs) if role.trains else ():
            if number not in state and getattr(output, "shape", None) == () and output.dtype.kind == "f":
                value = HostArray(output)
                description = describe(value.dtype, value.shape, value.address)
                self._agent.save(f"forward/{self.program.name}/loss", "losses", description)
                return

    # ---- state

    def set_state(self, find: Callable[[], dict[int, Any]]) -> None:
        """`find` returns the values of the arguments that calls of the function change, by their numbers.

        It is called if the agent reads them, which in most steps it does not.
        """
        self._arrays = find

    def _state(self) -> dict[int, Any]:
        if callable(self._arrays):
            self._arrays = self._arrays()
        return self._arrays

    def release_state(self, remembers: bool) -> None:
        """Holds the values no longer. With `remembers`, the agent may read them as long as the program has them."""
        self._references = {}
        for argument, array in self._state().items() if remembers else ():
            # Numbers and arrays of NumPy are no state that JAX has made.
            with contextlib.suppress(TypeError):
                self._references[argument] = weakref.ref(array)
        self._arrays = {}
        self._resolved = {}

    def _describe_state(self, argument: int) -> Any:
        array = self._state().get(argument)
        if array is None and argument in self._references:
            array = self._references[argument]()
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
