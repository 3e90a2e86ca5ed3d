"""Runs functions that XLA would compile without it, as long as their ops are followed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

_MARK = "_XlaMustCompile"
_SUFFIX = "_graphdbg"
_NOTICE = (
    "functions with jit_compile are run without XLA while ops are followed, so their values may differ from "
    "XLA's in the last bits; set GRAPHDBG_COMPILED=keep to keep them compiled, as single ops"
)


class Uncompiled:
    """Makes copies of functions without the mark by which TensorFlow gives them to XLA."""

    def __init__(self, notify: Callable[[str], None], add_copy: Callable[[str, str], None]) -> None:
        """`notify` tells the user something; `add_copy` is given the names of each function and its copy."""
        self._notify = notify
        self._add_copy = add_copy
        self._keeps = os.environ.get("GRAPHDBG_COMPILED") == "keep"
        self._names: dict[str, str] = {}
        self._told = False

    def name_of(self, context: Any, function: str) -> str:
        """The name of the function to call instead; the same if XLA compiles no part of it."""
        if self._keeps:
            return function
        if function not in self._names:
            self._names[function] = self._copy(context, function)
        return self._names[function]

    def _copy(self, context: Any, function: str) -> str:
        definitions = dict(reachable(context, function))
        if not any(_is_marked(definition) for definition in definitions.values()):
            return function
        if not self._told:
            self._told = True
            self._notify(_NOTICE)
        for name, definition in definitions.items():
            copy = type(definition)()
            copy.CopyFrom(definition)
            copy.signature.name = name + _SUFFIX
            refer_to_copies(copy, definitions, _SUFFIX)
            if not context.has_function(copy.signature.name):
                context.add_function_def(copy)
            self._add_copy(name, copy.signature.name)
        return function + _SUFFIX


def reachable(context: Any, function: str) -> Iterator[tuple[str, Any]]:
    """The definitions of a function and of all that it calls."""
    waiting, seen = [function], set()
    while waiting:
        name = waiting.pop()
        if name in seen or not context.has_function(name):
            continue
        seen.add(name)
        definition = context.get_function_def(name)
        yield name, definition
        for node in definition.node_def:
            waiting.append(node.op)
            waiting.extend(each.name for each in _functions(node))


def _functions(node: Any) -> Iterator[Any]:
    """The names of functions among a node's attributes."""
    for value in node.attr.values():
        kind = value.WhichOneof("value")
        if kind == "func":
            yield value.func
        elif kind == "list":
            yield from value.list.func


def _is_marked(definition: Any) -> bool:
    marked = _MARK in definition.attr and definition.attr[_MARK].b
    return marked or any(_MARK in node.attr and node.attr[_MARK].b for node in definition.node_def)


def refer_to_copies(definition: Any, copied: Any, suffix: str) -> None:
    """Has a copy call those of the functions that are `copied`, with this suffix, and without XLA."""
    definition.attr.pop(_MARK, None)
    for node in definition.node_def:
        node.attr.pop(_MARK, None)
        if node.op in copied:
            node.op += suffix
        for function in _functions(node):
            function.attr.pop(_MARK, None)
            if function.name in copied:
                function.name += suffix
