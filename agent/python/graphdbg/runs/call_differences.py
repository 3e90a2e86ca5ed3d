"""How an op is called differently by two runs: what the differences of its results may come from.

server/runs/call_differences.cc finds the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from .graph import NodeTable

# How many ops in a row may change a tensor in place.
_MAX_CHANGES = 16
# Attributes that say how an op is executed, not what it computes.
_OF_EXECUTION = ("mode",)

_Tensor = tuple[int, int]


@dataclass(frozen=True)
class CallDifference:
    """One difference between two calls of an op.

    Attributes:
        what: "attribute", such as another epsilon; "input": an argument is another tensor; or "in_place": only one
            side changes an argument in place before, as clipping does with gradients. What was recorded of such a
            tensor is what its own op has made of it, so that it counts as equal.
        subject: The attribute's name, the argument's number from 0, or the tensor that is changed, by its name here.
        here, there: The values, the tensors, or the nodes that change it with the user's line; "" if there are none.
    """

    what: Literal["attribute", "input", "in_place"]
    subject: str
    here: str
    there: str


@dataclass(frozen=True)
class Side:
    """A side of the comparison: its nodes, the op's node, and a name of each node that both sides have."""

    nodes: NodeTable
    op: int
    shared_name: Callable[[int], str]


def call_differences(here: Side, there: Side) -> tuple[CallDifference, ...]:
    if here.op not in here.nodes.nodes or there.op not in there.nodes.nodes:
        return ()
    return (*_attributes(here, there), *_arguments(here, there))


def _attributes(here: Side, there: Side) -> Iterator[CallDifference]:
    first, second = (side.nodes.nodes[side.op].values["attributes"] for side in (here, there))
    for name in sorted({*first, *second}):
        values = str(first.get(name, "")), str(second.get(name, ""))
        if values[0] != values[1] and name not in _OF_EXECUTION:
            yield CallDifference("attribute", name, *values)


def _arguments(here: Side, there: Side) -> Iterator[CallDifference]:
    first, second = (list(_read(side)) for side in (here, there))
    # A list of tensors may have others there.
    if len(first) != len(second):
        return
    common = {each.name for each in first} & {each.name for each in second}
    by_name = {each.name: each for each in second}
    for number, (one, other) in enumerate(zip(first, second, strict=True)):
        if one.name not in common and other.name not in common:
            yield CallDifference("input", str(number), one.own_name, other.own_name)
        elif one.name in common and bool(one.changes) is not bool(by_name[one.name].changes):
            yield CallDifference("in_place", one.own_name, one.changes, by_name[one.name].changes)


@dataclass(frozen=True)
class _Argument:
    # Of the tensor as it was made: a name that both sides have, and its own on this side.
    name: str
    own_name: str
    # The nodes that have changed it since.
    changes: str


def _read(side: Side) -> Iterator[_Argument]:
    for tensor in _inputs(side.nodes, side.op):
        (node, slot), changes = _made(side.nodes, tensor)
        own_name = f"{side.nodes.name(node)}:{slot}"
        yield _Argument(f"{side.shared_name(node)}:{slot}", own_name, _named(side.nodes, changes))


def _made(nodes: NodeTable, tensor: _Tensor) -> tuple[_Tensor, list[int]]:
    """A tensor as it was made, and the nodes that have changed it since, in order."""
    changes: list[int] = []
    while len(changes) < _MAX_CHANGES and _is_in_place(nodes, tensor[0]):
        inputs = _inputs(nodes, tensor[0])
        # The tensors that an op changes are its first arguments, in the order of its results.
        if tensor[1] >= len(inputs):
            break
        changes.insert(0, tensor[0])
        tensor = inputs[tensor[1]]
    return tensor, changes


def _named(nodes: NodeTable, changes: list[int]) -> str:
    if not changes:
        return ""
    source = nodes.nodes[changes[0]].source
    line = f" ({source.file}:{source.line})" if source is not None else ""
    return ", ".join(map(nodes.name, changes)) + line


def _inputs(nodes: NodeTable, node: int) -> list[_Tensor]:
    found = nodes.nodes[node].values["inputs"]
    return [(each["node_id"], each["slot"]) for each in found if not each["control"] and each["node_id"] in nodes.nodes]


def _is_in_place(nodes: NodeTable, node: int) -> bool:
    return nodes.nodes[node].op_type.partition(".")[0].endswith("_")
