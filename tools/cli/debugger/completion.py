"""Completion of names, scope by scope, as a shell completes folders."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .graph_index import GraphIndex

if TYPE_CHECKING:
    from .session import Session

# A list that is longer helps nobody.
MAX_LISTED = 1000
# The end of an expression that is being typed.
_TAIL = re.compile(r"(?P<target>[\w/$:\]`)]+)?(?P<mark>[.@])(?P<field>-?\w*)$|(?P<name>[A-Za-z_$0-9][\w/]*(?::\d*)?)?$")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|\d+")


@dataclass(frozen=True)
class Completion:
    """One way to go on.

    Attributes:
        text: What replaces the characters from `start` on.
        start: The index in the completed text at which the replacement begins.
        label: What a list shows; the last segment of a name.
        kind: "scope" (more may follow), "node", "statistic", "condition", "file" or "word".
        detail: A short explanation, such as the shape of an output; "" if there is none.
    """

    text: str
    start: int
    label: str
    kind: str
    detail: str = ""


def complete_nodes(index: GraphIndex, prefix: str, start: int = 0, within: str = "") -> list[Completion]:
    """The nodes and scopes whose full names begin like this, without what is inside those scopes.

    Args:
        index: The graph.
        prefix: What has been typed of the name.
        start: Where it begins in the text.
        within: The scope that `prefix` is relative to.
    """
    typed_scope, slash, label = prefix.rpartition("/")
    scope = index.scope_of(f"{within}/{typed_scope}".strip("/"))
    if scope is None:
        return []
    begin = f"{typed_scope}{slash}"
    found = list(_scopes(index, scope, label, begin, start))
    found += _nodes(index, scope, label, begin, start, MAX_LISTED - len(found))
    return found[:MAX_LISTED]


def _scopes(index: GraphIndex, scope: int, label: str, begin: str, start: int) -> Iterator[Completion]:
    for each in index.scopes_in(scope):
        name = index.scope_label(each)
        if name.startswith(label):
            yield Completion(f"{begin}{name}/", start, f"{name}/", "scope", index.scope_type(each))


def _nodes(index: GraphIndex, scope: int, label: str, begin: str, start: int, most: int) -> list[Completion]:
    found: list[Completion] = []
    for node in index.nodes_in(scope):
        name = index.label(node)
        if name.startswith(label):
            found.append(Completion(f"{begin}{name}", start, name, "node", index.output(node)))
            if len(found) >= most:
                break
    return found


def complete_expression(session: Session, text: str, frame: int = 0) -> list[Completion]:
    """How an expression may go on at the end of `text`."""
    match = _TAIL.search(text)
    if match is None:
        return []
    if match["mark"] == "." and match["target"]:
        return _words(match["field"], match.start("field"), _statistics(), "statistic")
    if match["mark"] == "@" and match["target"]:
        places = ["-1", *(f"rank{each.rank}" for each in session.ranks())]
        return _words(match["field"], match.start("field"), places, "word")
    name = match["name"] or ""
    start = len(text) - len(name)
    return _names(session, name, start, frame)


def _statistics() -> list[str]:
    from .evaluate import STATISTICS

    return list(STATISTICS)


def _words(typed: str, start: int, words: list[str], kind: str) -> list[Completion]:
    return [Completion(word, start, word, kind) for word in words if word.startswith(typed)]


def _names(session: Session, name: str, start: int, frame: int) -> list[Completion]:
    """Names in the current scope, then in those around it; each is offered where it is found first."""
    from .evaluate import Evaluator
    from .variables import variables_of

    index = session.graph_index()
    stop = session.stop
    found: dict[str, Completion] = {}
    if stop is not None and stop.node:
        found.update((each.text, each) for each in _words(name, start, ["$", "out", "in0"], "word"))
        variables = variables_of(session, frame)
        found.update((each.text, each) for each in _words(name, start, list(variables), "word"))
    for scope in Evaluator(session).scopes(frame):
        for each in complete_nodes(index, name, start, scope):
            if all(map(_PLAIN.fullmatch, each.text.strip("/").split("/"))):
                found.setdefault(each.text, each)
        if len(found) >= MAX_LISTED:
            break
    return list(found.values())[:MAX_LISTED]
