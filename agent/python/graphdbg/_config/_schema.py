"""The JSON Schema of the configuration, which is part of the package."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

_FILE = Path(__file__).resolve().parent.parent / "config.schema.json"


def schema_text() -> str:
    """The schema as editors read it."""
    return _FILE.read_text(encoding="utf-8")


@functools.cache
def schema() -> Schema:
    parsed: Schema = json.loads(schema_text())
    return parsed


def resolve(part: Schema) -> Schema:
    """A part of the schema with its `$ref` replaced by what it refers to."""
    reference = part.get("$ref")
    if reference is None:
        return part
    target: Schema = schema()["$defs"][reference.rpartition("/")[2]]
    return target | {key: value for key, value in part.items() if key != "$ref"}
