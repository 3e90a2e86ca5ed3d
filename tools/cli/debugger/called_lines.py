"""Lines that make no ops of their own, and call modules or functions that do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from graphdbg.client.models import NodeDetail, Source

from .assignments import class_around
from .call_site import CallSite, Relation
from .graph_index import GraphIndex, is_file
from .line_goals import Nodes
from .module_calls import is_list
from .source_lines import Place, find_line, function_name, has_call, last_line_of_function, local_text

# Each takes a request. A class of modules with more uses has breakpoints on ops.
_MOST = 256
_FORWARD = "forward"


class Program(Nodes, Protocol):
    """A session, as far as it is used here."""

    def graph_index(self) -> GraphIndex: ...

    def source_text(self, file: str) -> str | None: ...


def find_place(program: Program, file: str, line: int) -> Place | None:
    """The first line from `line` on, in the same function, that made ops or called what made some.

    Args:
        file: The end of the file's path.
        line: From 1.

    Returns:
        None if no line of the function from there on did.
    """
    index = program.graph_index()
    text = program.source_text(file) or local_text(file)
    own = find_line(index, text, file, line)
    if text is None or not index.has_executed:
        return own
    end = last_line_of_function(text, line) + 1 if own is None else own.line
    for each in range(line, end):
        if has_call(text, each) and (nodes := tuple(_called(program, index, text, file, each))):
            return Place(each, nodes)
    return own


def _called(program: Program, index: GraphIndex, text: str, file: str, line: int) -> Iterator[int]:
    """The first op that each run of a line executes."""
    in_module = function_name(text, line) == _FORWARD
    owners = _modules(index, class_around(text, line)) if in_module else [index.scope_of(_FORWARD)]
    first = index.first_of_scopes
    left = _MOST
    for owner in owners:
        if owner is None:
            continue
        nodes = [first[each] for each in _members(index, owner) if each in first]
        if not in_module:
            # The model itself is the scope around what the program computes.
            nodes += [each for each in index.nodes_in(owner) if each in index.place]
        nodes.sort(key=lambda each: index.place[each])
        scope = index.scope_name(owner) if in_module else ""
        before: NodeDetail | None = None
        for node in nodes[:left]:
            detail = program.known_node(index.name(node))
            if not _callers(detail, file, line):
                continue
            if before is None or not _is_same_run(program, before, detail, scope, (file, line)):
                yield node
            before = detail
        left -= min(left, len(nodes))


def _callers(node: NodeDetail, file: str, line: int) -> tuple[Source, ...]:
    """The frames of a stack from a line outwards; none if it is not in the stack."""
    frames = enumerate(node.stack)
    here = (each for each, frame in frames if frame.user and frame.line == line and is_file(frame.file, file))
    found = next(here, None)
    return () if found is None else node.stack[found:]


def _is_same_run(program: Program, before: NodeDetail, node: NodeDetail, scope: str, line: tuple[str, int]) -> bool:
    """Whether one run of a line executes two ops, one soon after the other. `scope`: the line's module, if any."""
    if scope:
        return CallSite(before, scope, program.type_of).relation_of(node) is Relation.SAME_LINE
    return _callers(before, *line) == _callers(node, *line)


def _modules(index: GraphIndex, name: str) -> list[int]:
    """The modules of a class, without the scopes of their backward ops."""
    found = index.scopes_of_type(name) if name else []
    return [each for each in found if f"{index.scope_name(each)}/".startswith(f"{_FORWARD}/")]


def _members(index: GraphIndex, scope: int) -> Iterator[int]:
    """The modules directly in a module, and in its lists of modules."""
    for each in index.scopes_in(scope):
        if is_list(index.scope_type(each)):
            yield from _members(index, each)
        else:
            yield each
