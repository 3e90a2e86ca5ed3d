"""The messages of proto/graphdbg/v1 that a run contains, for `protobuf.decode`."""

from __future__ import annotations

from collections.abc import Mapping

from .protobuf import Field
from .record import COUNTS, MEASURES

Fields = Mapping[int, Field]


def _map(name: str, value: str) -> Field:
    entry = {1: Field("key", "string"), 2: Field("value", value)}
    return Field(name, "message", entry, repeated=True, is_map=True)


SOURCE_FRAME: Fields = {
    1: Field("file", "string"),
    2: Field("line", "uint"),
    3: Field("function", "string"),
    4: Field("text", "string"),
    5: Field("user", "bool"),
}

TENSOR_TYPE: Fields = {
    1: Field("dtype", "uint"),
    2: Field("shape", "int", repeated=True),
    3: Field("framework_dtype", "string"),
}

STATISTICS: Fields = {number: Field(name, "uint") for number, name in enumerate(COUNTS, 1)} | {
    number: Field(name, "double", optional=True) for number, name in enumerate(MEASURES, len(COUNTS) + 1)
}

_INPUT: Fields = {1: Field("node_id", "uint"), 2: Field("slot", "uint"), 3: Field("control", "bool")}
_OUTPUT: Fields = {1: Field("slot", "uint"), 2: Field("type", "message", TENSOR_TYPE)}

NODE: Fields = {
    1: Field("id", "uint"),
    2: Field("name", "string"),
    3: Field("kind", "uint"),
    4: Field("op_type", "string"),
    5: Field("category", "uint"),
    6: Field("inputs", "message", _INPUT, repeated=True),
    7: Field("outputs", "message", _OUTPUT, repeated=True),
    8: Field("stack", "message", SOURCE_FRAME, repeated=True),
    9: _map("attributes", "string"),
    10: Field("order", "uint"),
    11: Field("first_step", "uint"),
    12: Field("forward_node_id", "uint"),
    13: Field("last_step", "uint"),
}

GRAPH_UPDATE: Fields = {
    1: Field("graph", "string"),
    2: Field("nodes", "message", NODE, repeated=True),
    3: _map("scope_types", "string"),
}

HIT: Fields = {
    1: Field("watchpoint", "uint"),
    2: Field("revision", "uint"),
    3: Field("step", "uint"),
    4: Field("node_id", "uint"),
    5: Field("slot", "uint"),
    6: Field("order", "uint"),
    7: _map("actual", "double"),
    8: Field("statistics", "message", STATISTICS),
    9: Field("origin", "uint"),
    10: Field("source", "message", SOURCE_FRAME),
    11: Field("error", "string"),
    12: Field("time_unix_nano", "int"),
    13: Field("type", "message", TENSOR_TYPE),
    14: Field("number", "uint"),
    15: Field("absorbed", "bool"),
    16: Field("message", "string"),
}

USER_CHANGE: Fields = {
    1: Field("step", "uint"),
    2: Field("time_unix_nano", "int"),
    3: Field("by", "string"),
    4: Field("text", "string"),
    5: Field("node_id", "uint"),
    6: Field("slot", "uint"),
}

NODE_KINDS = ("", "op", "parameter", "buffer", "constant", "input")
CATEGORIES = ("other", "weight", "gradient", "activation", "optimizer")
ORIGINS = ("unknown", "origin", "propagated")
