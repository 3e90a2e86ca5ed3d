"""Copies of the program's functions, in which each op that is followed has a tap behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .native import Functions
from .xla import reachable, refer_to_copies

_OP = "GraphdbgTap"
_SUFFIX = "_graphdbg_taps"
# The library cannot take these.
_NOT_TAPPED = ("resource", "variant", "string")


@dataclass(frozen=True)
class TappedOp:
    """An op of a function: its node, flags of its executions, and for each input what has made it."""

    node: int
    flags: int
    inputs: Sequence[tuple[int, int]]


class TappedFunctions:
    """Nothing is traced again, and no code of the program runs."""

    def __init__(self, functions: Functions, ops: Mapping[str, Mapping[str, TappedOp]]) -> None:
        self._functions = functions
        self._ops = ops
        self._names: dict[str, str] = {}

    def name_of(self, context: Any, function: str) -> str:
        """The name of the copy."""
        if function not in self._names:
            self._names[function] = self._copy(context, function)
        return self._names[function]

    def _copy(self, context: Any, function: str) -> str:
        definitions = dict(reachable(context, function))
        if not any(self._ops.get(name) for name in definitions):
            return function
        for name, definition in definitions.items():
            copy = type(definition)()
            copy.CopyFrom(definition)
            copy.signature.name = name + _SUFFIX
            refer_to_copies(copy, definitions, _SUFFIX)
            graph = self._functions.get(name)
            if graph is not None:
                _tap(copy, graph, self._ops.get(name, {}))
            if not context.has_function(copy.signature.name):
                context.add_function_def(copy)
        return function + _SUFFIX


def _tap(definition: Any, graph: Any, ops: Mapping[str, TappedOp]) -> None:
    tapped = [(node, graph.get_operation_by_name(node.name)) for node in definition.node_def if node.name in ops]
    # The names of values behind their taps.
    renamed: dict[str, str] = {}
    taps = []
    for node, op in tapped:
        names = list(_output_names(op))
        slots = [slot for slot, tensor in enumerate(op.outputs) if _is_number(tensor)]
        tap = type(node)(name=f"{node.name}_graphdbg_tap", op=_OP, device=node.device)
        tap.input.extend(names[slot] for slot in slots)
        for place, slot in enumerate(slots):
            renamed[names[slot]] = f"{tap.name}:same:{place}"
        tap.attr["slots"].list.i.extend(slots)
        tap.attr["Values"].list.type.extend(op.outputs[slot].dtype.as_datatype_enum for slot in slots)
        taps.append(tap)
    for node in definition.node_def:
        node.input[:] = [renamed.get(each, each) for each in node.input]
    for name, value in definition.ret.items():
        definition.ret[name] = renamed.get(value, value)
    for tap, (node, op) in zip(taps, tapped, strict=True):
        _add_inputs(tap, node, op, ops[node.name])
    definition.node_def.extend(taps)


def _add_inputs(tap: Any, node: Any, op: Any, tapped: TappedOp) -> None:
    """Has a tap see what its op reads, too."""
    names = [each for each in node.input if not each.startswith("^")]
    # Without any, TensorFlow still requires the attributes.
    tap.attr["Inputs"].list.SetInParent()
    tap.attr["producers"].list.SetInParent()
    for name, tensor, producer in zip(names, op.inputs, tapped.inputs, strict=False):
        if tensor.dtype.name not in _NOT_TAPPED:
            tap.input.append(name)
            tap.attr["Inputs"].list.type.append(tensor.dtype.as_datatype_enum)
            tap.attr["producers"].list.i.extend(producer)
    tap.attr["node"].i = tapped.node
    tap.attr["flags"].i = tapped.flags


def _output_names(op: Any) -> Iterator[str]:
    """The names of an op's outputs in the definition of a function, by slot."""
    for argument in op.op_def.output_arg:
        if argument.number_attr:
            count = op.get_attr(argument.number_attr)
        elif argument.type_list_attr:
            count = len(op.get_attr(argument.type_list_attr))
        else:
            count = 1
        yield from (f"{op.name}:{argument.name}:{number}" for number in range(count))


def _is_number(tensor: Any) -> bool:
    return bool(tensor.dtype.is_floating or tensor.dtype.is_complex)
