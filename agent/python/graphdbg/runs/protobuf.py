"""Reads messages of proto/graphdbg/v1.

Only what runs contain is described here, so that no version of the package protobuf is
required. Fields that are not described are passed over, as protobuf does.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

_MAX_DEPTH = 16
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

Values = dict[str, Any]


class DecodeError(ValueError):
    """A message is not valid."""


@dataclass(frozen=True)
class Field:
    """A field of a message.

    Attributes:
        name: Its name.
        kind: "uint", "int" (two's complement, 64 bits), "bool", "double", "string" or "message".
        message: The fields of a message, or of an entry of a map.
        repeated: Whether there may be several; a map is repeated, too.
        is_map: Whether it is a map.
        optional: Whether it is None if it is absent.
    """

    name: str
    kind: str
    message: Mapping[int, Field] | None = None
    repeated: bool = False
    is_map: bool = False
    optional: bool = False


_EMPTY: Mapping[str, Callable[[], Any]] = {
    "uint": int,
    "int": int,
    "bool": bool,
    "double": float,
    "string": str,
    "message": lambda: None,
}

# By the identity of the fields of a message, which live as long as the program.
_absent: dict[int, Values] = {}
_several: dict[int, list[tuple[str, type[Any]]]] = {}


def decode(content: bytes, fields: Mapping[int, Field]) -> Values:
    """Decodes a message.

    Raises:
        DecodeError: The bytes are not a valid message.
    """
    try:
        return _decode(memoryview(content), fields, 0)
    except (IndexError, struct.error) as error:
        raise DecodeError(f"a field is cut short ({error})") from None


def _decode(content: memoryview, fields: Mapping[int, Field], depth: int) -> Values:
    if depth > _MAX_DEPTH:
        raise DecodeError("messages are nested too deeply")
    values = _initial(fields)
    at = 0
    while at < len(content):
        tag, at = _varint(content, at)
        raw, at = _raw(content, at, tag & 7)
        field = fields.get(tag >> 3)
        if field is not None:
            _store(values, field, raw, tag & 7, depth)
    return values


def _initial(fields: Mapping[int, Field]) -> Values:
    """The values of a message without fields."""
    values = _absent.get(id(fields))
    if values is None:
        values = {field.name: None if field.optional else _EMPTY[field.kind]() for field in fields.values()}
        _absent[id(fields)] = values
        _several[id(fields)] = [
            (field.name, dict if field.is_map else list) for field in fields.values() if field.repeated
        ]
    values = values.copy()
    for name, make in _several[id(fields)]:
        values[name] = make()
    return values


def _store(values: Values, field: Field, raw: Any, wire: int, depth: int) -> None:
    if field.is_map and field.message is not None:
        entry = _decode(_expect_bytes(raw, wire), field.message, depth + 1)
        values[field.name][entry["key"]] = entry["value"]
    elif field.repeated and wire == _BYTES and field.kind in ("uint", "int"):
        at = 0
        while at < len(raw):
            number, at = _varint(raw, at)
            values[field.name].append(_number(number, field.kind))
    elif field.repeated:
        values[field.name].append(_single(field, raw, wire, depth))
    else:
        values[field.name] = _single(field, raw, wire, depth)


def _single(field: Field, raw: Any, wire: int, depth: int) -> Any:
    if field.kind == "message" and field.message is not None:
        return _decode(_expect_bytes(raw, wire), field.message, depth + 1)
    if field.kind == "string":
        return bytes(_expect_bytes(raw, wire)).decode("utf-8", "replace")
    if field.kind == "double":
        if wire != _FIXED64:
            raise DecodeError(f"{field.name} is not a double")
        return struct.unpack("<d", raw)[0]
    if wire != _VARINT:
        raise DecodeError(f"{field.name} is not a number")
    return _number(raw, field.kind)


def _number(number: int, kind: str) -> Any:
    if kind == "bool":
        return bool(number)
    return number - (1 << 64) if kind == "int" and number >> 63 else number


def _expect_bytes(raw: Any, wire: int) -> memoryview:
    if wire != _BYTES:
        raise DecodeError("a string or message has the wrong wire type")
    view: memoryview = raw
    return view


def _raw(content: memoryview, at: int, wire: int) -> tuple[Any, int]:
    if wire == _VARINT:
        return _varint(content, at)
    if wire == _BYTES:
        size, at = _varint(content, at)
    elif wire in (_FIXED64, _FIXED32):
        size = 8 if wire == _FIXED64 else 4
    else:
        raise DecodeError(f"wire type {wire} is not in use")
    if size > len(content) - at:
        raise DecodeError(f"a field of {size} bytes does not fit")
    return content[at : at + size], at + size


def _varint(content: memoryview, at: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        byte = content[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & (1 << 64) - 1, at
        shift += 7
        if shift > 63:
            raise DecodeError("a number is longer than 10 bytes")
