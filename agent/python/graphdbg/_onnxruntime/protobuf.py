"""The part of protobuf's encoding that is needed to assemble ONNX models from parts."""

from __future__ import annotations

import re

from . import elements

# Fields of onnx.proto.
MODEL_GRAPH = 7
GRAPH_NODE, GRAPH_NAME, GRAPH_INITIALIZER, GRAPH_INPUT, GRAPH_OUTPUT = 1, 2, 5, 11, 12
_VALUE_NAME, _VALUE_TYPE = 1, 2
_TYPE_TENSOR, _TYPE_SEQUENCE, _TYPE_OPTIONAL = 1, 4, 9
_ELEMENT = 1


def varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def field(number: int, content: bytes) -> bytes:
    """Encodes a field that is a string or a message."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def value(name: str, type_name: str | None = None) -> bytes:
    """Encodes a ValueInfoProto. ONNX Runtime infers the type if there is none."""
    encoded = field(_VALUE_NAME, name.encode())
    return encoded if type_name is None else encoded + field(_VALUE_TYPE, _type(type_name))


def _type(name: str) -> bytes:
    """Encodes the TypeProto of a type such as "tensor(float)" or "seq(tensor(int64))". Raises ValueError."""
    match = re.fullmatch(r"(tensor|seq|optional)\((.+)\)", name)
    if match is None:
        raise ValueError(f"values of type {name} cannot be passed between pieces")
    kind, inner = match.groups()
    if kind == "tensor":
        if inner not in elements.NUMBERS:
            raise ValueError(f"values of type {name} cannot be passed between pieces")
        return field(_TYPE_TENSOR, varint(_ELEMENT << 3) + varint(elements.NUMBERS[inner]))
    return field(_TYPE_SEQUENCE if kind == "seq" else _TYPE_OPTIONAL, field(_ELEMENT, _type(inner)))
