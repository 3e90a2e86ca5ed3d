#!/usr/bin/python3
"""Writes the schemas of an OpenAPI file as TypeScript types.

usage: typescript.py OPENAPI_YAML [TYPES_TS]

With TYPES_TS: checks that the file is what would be written, else exits with 1.
Knows what proto/http/openapi.yaml uses, and refuses the rest.
"""

from __future__ import annotations

import difflib
import json
import re
import sys
from typing import Any

import yaml

Schema = dict[str, Any]

HEADER = """// Made from proto/http/openapi.yaml by tools/dev types: do not edit.

/* oxlint-disable */
"""

SCALARS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
# They say more about values than TypeScript can.
IGNORED = {"description", "default", "minimum", "maximum", "format", "contentMediaType"}
KNOWN = IGNORED | {
    "$ref",
    "additionalProperties",
    "allOf",
    "const",
    "enum",
    "items",
    "oneOf",
    "properties",
    "required",
    "type",
}


def type_of(schema: Schema, indent: str = "") -> str:
    if unknown := set(schema) - KNOWN:
        raise SystemExit(f"typescript.py does not know {sorted(unknown)}")
    parts = []
    if "$ref" in schema:
        parts.append(schema["$ref"].rpartition("/")[2])
    if "allOf" in schema:
        parts.append(all_of(schema["allOf"], indent))
    if "oneOf" in schema:
        parts.append(union([type_of(part, indent) for part in schema["oneOf"]]))
    if "enum" in schema:
        parts.append(union([json.dumps(value) for value in schema["enum"]]))
    elif "const" in schema:
        parts.append(json.dumps(schema["const"]))
    elif own := own_type(schema, indent):
        parts.append(own)
    return " & ".join(parts) or "unknown"


def all_of(schemas: list[Schema], indent: str) -> str:
    parts = [type_of(part, indent) for part in schemas if set(part) != {"required"}]
    # What one part has and another demands.
    demanded = {name for part in schemas for name in set(part.get("required", [])) - set(part.get("properties", {}))}
    if demanded:
        named = " & ".join(type_of(part) for part in schemas if "$ref" in part)
        names = union([json.dumps(name) for name in sorted(demanded)])
        parts.append(f"Required<Pick<{named}, {names}>>")
    return " & ".join(parts)


def own_type(schema: Schema, indent: str) -> str:
    kinds = schema.get("type", "object" if {"properties", "required"} & set(schema) else [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    made = []
    for kind in kinds:
        if kind == "object":
            made.append(object_type(schema, indent))
        elif kind == "array":
            items = type_of(schema["items"], indent)
            made.append(f"({items})[]" if re.search(r"[|&]", items) else f"{items}[]")
        else:
            made.append(SCALARS[kind])
    return union(made) if made else ""


def object_type(schema: Schema, indent: str) -> str:
    inner = indent + "  "
    required = set(schema.get("required", []))
    properties = schema.get("properties", {})
    lines = []
    for name, value in properties.items():
        mark = "" if name in required else "?"
        lines.append(f"{inner}{name}{mark}: {type_of(value, inner)};")
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        lines.append(f"{inner}[name: string]: {type_of(more, inner)};")
    if not lines:
        return "Record<string, never>" if more is False else "Record<string, unknown>"
    return "{\n" + "\n".join(lines) + f"\n{indent}}}"


def union(parts: list[str]) -> str:
    once = list(dict.fromkeys(parts))
    text = " | ".join(once)
    return f"({text})" if len(once) > 1 else text


def without_parentheses(text: str) -> str:
    """Of a union that is a type's whole definition."""
    return text[1:-1] if re.fullmatch(r"\([^()]*\)", text) else text


def types(document: Schema) -> str:
    schemas = document["components"]["schemas"]
    made = [f"export type {name} = {without_parentheses(type_of(schemas[name]))};\n" for name in sorted(schemas)]
    return HEADER + "\n" + "\n".join(made)


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        text = types(yaml.safe_load(file))
    if len(sys.argv) < 3:
        sys.stdout.write(text)
        return
    with open(sys.argv[2], encoding="utf-8") as file:
        old = file.read()
    if old != text:
        sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), text.splitlines(True), sys.argv[2], "made"))
        raise SystemExit("the types are not those of the description: run tools/dev types")


if __name__ == "__main__":
    main()
