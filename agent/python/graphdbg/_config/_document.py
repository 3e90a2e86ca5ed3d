"""Parses a file into YAML nodes, which know their lines."""

from __future__ import annotations

import json
from typing import Any

from ._problem import Problem

# Scalars as in YAML 1.2 and JSON, so that `off` and `no` are texts and 1e-8 is a number.
_INTEGER = r"^[-+]?[0-9]+$"
_NUMBER = r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$|^[-+]?\.(inf|Inf|INF)$|^\.(nan|NaN|NAN)$"
_NULL = r"^(~|null|Null|NULL|)$"
_BOOLEAN = r"^(true|True|TRUE|false|False|FALSE)$"


class DocumentError(Exception):
    """The file is not YAML or JSON."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def parse(text: str, is_json: bool) -> Any:
    """Returns the root node, or None for an empty file.

    Raises:
        DocumentError: The text has a syntax error, or PyYAML is not installed.
    """
    if is_json:
        # The JSON parser explains errors in JSON better than the YAML parser does.
        try:
            json.loads(text)
        except json.JSONDecodeError as error:
            raise DocumentError(Problem(error.lineno, "", f"not valid JSON: {error.msg}")) from None
    try:
        import yaml
    except ImportError:
        message = "needs PyYAML to be read: run `python -m pip install PyYAML` in the job's environment"
        raise DocumentError(Problem(0, "", message)) from None
    try:
        return yaml.compose(text, _loader(yaml))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        detail = ", ".join(filter(None, (error.context, error.problem)))
        raise DocumentError(Problem(mark.line + 1 if mark else 0, "", f"not valid YAML: {detail}")) from None
    except yaml.YAMLError as error:
        raise DocumentError(Problem(0, "", f"not valid YAML: {error}")) from None


def _loader(yaml: Any) -> Any:
    import re

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012

    for tag, pattern in (("null", _NULL), ("bool", _BOOLEAN), ("int", _INTEGER), ("float", _NUMBER)):
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), None)
    return Loader


def kind(node: Any) -> str:
    """The JSON type of a node: object, array, string, integer, number, boolean or null; "" for other tags."""
    names = {
        "map": "object",
        "seq": "array",
        "str": "string",
        "int": "integer",
        "float": "number",
        "bool": "boolean",
        "null": "null",
    }
    return names.get(node.tag.removeprefix("tag:yaml.org,2002:"), "")


def scalar(node: Any) -> Any:
    """The value of a scalar node."""
    text = node.value
    kind_of = kind(node)
    if kind_of == "integer":
        return int(text)
    if kind_of == "number":
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    if kind_of == "boolean":
        return text.lower() == "true"
    return None if kind_of == "null" else text


def value(node: Any) -> Any:
    """The plain value of a node, with everything below it. The node must have been checked for cycles."""
    if kind(node) == "object":
        return {key.value: value(child) for key, child in node.value}
    if kind(node) == "array":
        return [value(child) for child in node.value]
    return scalar(node)


def line(node: Any) -> int:
    return int(node.start_mark.line) + 1
