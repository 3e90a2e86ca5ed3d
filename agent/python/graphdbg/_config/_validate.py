"""Checks YAML nodes against the schema.

Implements the keywords of JSON Schema that config.schema.json uses. A library would
check values rather than nodes, which have no lines, and would be one more dependency
inside training processes.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Any

from . import _document
from ._problem import Problem
from ._schema import Schema, resolve

# The keywords that `check` knows; a test compares them with those of the schema.
KEYWORDS = frozenset(
    {
        "$ref",
        "additionalProperties",
        "anyOf",
        "enum",
        "format",
        "items",
        "maximum",
        "minItems",
        "minimum",
        "pattern",
        "properties",
        "required",
        "type",
    }
)

_ARTICLES = {"object": "a mapping", "array": "a list", "string": "a text", "integer": "an integer"}
_ARTICLES |= {"number": "a number", "boolean": "true or false", "null": "null"}


def check(node: Any, schema: Schema) -> list[Problem]:
    """All errors of a document, in the order of its lines."""
    cycle = _find_cycle(node, [])
    if cycle is not None:
        return [Problem(_document.line(cycle), "", "an alias refers to the value that contains it")]
    return sorted(_check(node, schema, ""), key=lambda problem: problem.line)


def _find_cycle(node: Any, above: list[Any]) -> Any:
    if any(node is each for each in above):
        return node
    if isinstance(node.value, str):
        return None
    children = [child for pair in node.value for child in (pair if isinstance(pair, tuple) else (pair,))]
    found = (_find_cycle(child, [*above, node]) for child in children)
    return next((each for each in found if each is not None), None)


def _check(node: Any, part: Schema, key: str) -> Iterator[Problem]:
    part = resolve(part)
    if "anyOf" in part:
        yield from _check_alternatives(node, [resolve(each) for each in part["anyOf"]], key)
        return
    if "enum" in part:
        yield from _check_choice(node, part, key)
        return
    kind = _document.kind(node)
    types = _types(part)
    if types and kind not in types and not (kind == "integer" and "number" in types):
        yield _problem(node, key, f"expected {_any_of(types)}, not {_shown(node)}")
    elif kind == "object":
        yield from _check_object(node, part, key)
    elif kind == "array":
        yield from _check_array(node, part, key)
    elif kind == "" or not isinstance(node.value, str):
        yield _problem(node, key, f"unsupported tag {node.tag}")
    else:
        yield from _check_scalar(node, part, key)


def _check_alternatives(node: Any, alternatives: list[Schema], key: str) -> Iterator[Problem]:
    """Reports the errors of the alternative that has the node's type."""
    kind = _document.kind(node)
    fitting = [each for each in alternatives if kind in _types(each)]
    if fitting:
        yield from _check(node, fitting[0], key)
        return
    words = [word for each in alternatives for word in (each.get("enum") or [_any_of(_types(each))])]
    yield _problem(node, key, f"expected {_alternatives([str(word) for word in words])}, not {_shown(node)}")


def _types(part: Schema) -> list[str]:
    if "enum" in part:
        return [] if any(not isinstance(value, str) for value in part["enum"]) else ["string"]
    found = part.get("type", [])
    return [found] if isinstance(found, str) else list(found)


def _check_object(node: Any, part: Schema, key: str) -> Iterator[Problem]:
    properties: Schema = part.get("properties", {})
    others = part.get("additionalProperties", True)
    seen: set[str] = set()
    for name_node, child in node.value:
        if not isinstance(name_node.value, str):
            yield _problem(name_node, key, "a key must be a text")
            continue
        name = name_node.value
        path = f"{key}.{name}" if key else name
        if name in seen:
            yield _problem(name_node, path, "this key appears twice")
        seen.add(name)
        if name in properties:
            yield from _check(child, properties[name], path)
        elif others is False:
            yield _problem(name_node, path, f"unknown key{nearest(name, list(properties))}")
        elif isinstance(others, dict):
            yield from _check(child, others, path)
    for name in part.get("required", ()):
        if name not in seen:
            yield _problem(node, key, f"the key '{name}' is missing")


def _check_array(node: Any, part: Schema, key: str) -> Iterator[Problem]:
    if len(node.value) < part.get("minItems", 0):
        yield _problem(node, key, "the list is empty")
    for index, child in enumerate(node.value):
        yield from _check(child, part.get("items", {}), f"{key}[{index}]")


def _check_choice(node: Any, part: Schema, key: str) -> Iterator[Problem]:
    choices: list[Any] = part["enum"]
    value = _document.scalar(node) if isinstance(node.value, str) else None
    if any(value == each and type(value) is type(each) for each in choices):
        return
    words = [str(each).lower() if isinstance(each, bool) else str(each) for each in choices]
    close = difflib.get_close_matches(value, words, n=1) if isinstance(value, str) else []
    hint = f"; did you mean '{close[0]}'?" if close else ""
    yield _problem(node, key, f"expected {_alternatives(words)}, not {_shown(node)}{hint}")


def _check_scalar(node: Any, part: Schema, key: str) -> Iterator[Problem]:
    value = _document.scalar(node)
    if isinstance(value, str):
        yield from _check_text(node, value, part, key)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        least, most = part.get("minimum"), part.get("maximum")
        if least is not None and not value >= least:
            yield _problem(node, key, f"expected at least {least}, not {value}")
        if most is not None and not value <= most:
            yield _problem(node, key, f"expected at most {most}, not {value}")


def _check_text(node: Any, text: str, part: Schema, key: str) -> Iterator[Problem]:
    if "pattern" in part and not re.search(part["pattern"], text):
        yield _problem(node, key, f"expected {part.get('patternTitle', part['pattern'])}, not {_shown(node)}")
    if part.get("format") == "regex":
        try:
            re.compile(text)
        except re.error as error:
            yield _problem(node, key, f"not a regular expression: {error}")


def nearest(word: str, known: list[str]) -> str:
    """`; did you mean 'x'?` with the known word that is most similar, or the list of known words."""
    found = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    if found:
        return f"; did you mean '{found[0]}'?"
    return f"; known: {', '.join(known)}" if known else ""


def _problem(node: Any, key: str, message: str) -> Problem:
    return Problem(_document.line(node), key, message)


def _any_of(types: list[str]) -> str:
    return _alternatives([_ARTICLES[each] for each in types])


def _alternatives(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _shown(node: Any) -> str:
    kind = _document.kind(node)
    if kind in ("object", "array") or not isinstance(node.value, str):
        return _ARTICLES.get(kind, "this")
    text = node.value if len(node.value) <= 40 else node.value[:37] + "..."
    return "null" if kind == "null" else f"'{text}'"
