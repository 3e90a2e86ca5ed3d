"""Models with graphs inside their nodes.

branches.onnx  nested Ifs, and an output that is a constant of a branch
loops.onnx     a Loop of 0 or 4 iterations, a Loop that ends by its condition, a Loop
               around an If, and nested Loops
scans.onnx     a Scan along axes other than the first, in both directions, with a state
calls.onnx     a function of the model in both branches of an If
lists.onnx     a Loop that builds a sequence
maybes.onnx    a Loop with an optional value
growth.onnx    a Loop that squares 10, which becomes infinite in the 6th of 8 iterations
long.onnx      a Loop that counts a million iterations
"""

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
from onnx import TensorProto, helper, numpy_helper

# An input "_" is omitted.
MODELS = {
    "branches": """
(float[2, 3] x, bool c, bool d) => (float[2, 3] y, float[2] z) <float one = {1}> {
  shifted = Add(x, one)
  y, z = If (c) <
    then_branch = yes () => (float[2, 3] product, float[2] fixed) <float[2] fixed = {7, 8}> {
      product = Mul(shifted, x)
    },
    else_branch = no () => (float[2, 3] inner, float[2] most) {
      inner = If (d) <
        then_branch = flip () => (float[2, 3] flipped) { flipped = Neg(shifted) },
        else_branch = grow () => (float[2, 3] grown) { small = Mul(x, one) grown = Exp(small) }
      >
      most = ReduceMax <axes = [1], keepdims = 0> (inner)
    }
  >
}
""",
    "loops": """
(float[2, 3] x, int64 n) => (float[2, 3] doubled, float[K] sums, float[2, 3] last, float[M, 2, 3] all, float[2, 3] rows)
<int64 four = {4}, int64 two = {2}, int64 three = {3}, int64 zero = {0}, bool yes = {1}, float limit = {50}> {
  trips = Mul(n, four)
  doubled, sums = Loop (trips, yes, x) <body = twice (int64 i, bool go, float[2, 3] v)
      => (bool go, float[2, 3] w, float sum) {
    w = Add(v, v)
    sum = ReduceSum <keepdims = 0> (w)
  }>
  positive = Abs(x)
  last, all = Loop (_, _, positive) <body = climb (int64 j, bool go_on, float[2, 3] before)
      => (bool below, float[2, 3] after, float[2, 3] copy) {
    number = Cast <to = 1> (j)
    after = Add(before, number)
    highest = ReduceMax <keepdims = 0> (after)
    below = Less(highest, limit)
    copy = Identity(after)
  }>
  rows = Loop (three, _, last) <body = outside (int64 k, bool on, float[2, 3] outer)
      => (bool on_out, float[2, 3] outer_out) {
    on_out = Identity(on)
    rest = Mod(k, two)
    even = Equal(rest, zero)
    chosen = If (even) <
      then_branch = halve () => (float[2, 3] half) {
        factor = Constant <value_float = 0.5> ()
        half = Mul(outer, factor)
      },
      else_branch = add () => (float[2, 3] added) { added = Add(outer, x) }
    >
    outer_out = Loop (two, on, chosen) <body = inside (int64 l, bool still, float[2, 3] deep)
        => (bool still_out, float[2, 3] deep_out) {
      still_out = Identity(still)
      deep_out = Sub(deep, x)
    }>
  }>
}
""",
    "scans": """
(float[2, 4, 3] x, float[5, 4] w) => (float[2, 3] total, float[2, 4, 3] sums, float[5, 4] weights)
<float[2, 3] start = {0, 0, 0, 0, 0, 0}> {
  total, sums, weights = Scan <
    num_scan_inputs = 2, scan_input_axes = [1, -1], scan_input_directions = [1, 0],
    scan_output_axes = [1, -1], scan_output_directions = [0, 1],
    body = walk (float[2, 3] before, float[2, 3] part, float[5] column)
        => (float[2, 3] after, float[2, 3] sum, float[5] out) {
      most = ReduceMax <keepdims = 0> (column)
      scaled = Mul(part, most)
      after = Add(before, scaled)
      sum = Identity(after)
      out = Neg(column)
    }
  > (start, x, w)
}
""",
    "lists": """
(float[2] x) => (float[6] y) <int64 three = {3}> {
  none = SequenceEmpty <dtype = 1> ()
  list = Loop (three, _, none) <body = append (int64 i, bool go, before)
      => (bool go, after) {
    number = Cast <to = 1> (i)
    shifted = Add(x, number)
    after = SequenceInsert(before, shifted)
  }>
  y = ConcatFromSequence <axis = 0> (list)
}
""",
    "calls": """
(float[2] x, bool c) => (float[2] y) {
  y = If (c) <
    then_branch = once () => (float[2] a) { a = own.soft (x) },
    else_branch = twice () => (float[2] b) { first = own.soft (x) b = own.soft (first) }
  >
}
<domain: "own", opset_import: ["" : 17]>
soft (v) => (w) { s = Sigmoid(v) w = Mul(s, v) }
""",
    "growth": """
(float[2] x) => (float[2] y) <int64 eight = {8}, float nothing = {0}, float ten = {10}> {
  zeros = Mul(x, nothing)
  start = Add(zeros, ten)
  y = Loop (eight, _, start) <body = square (int64 i, bool go, float[2] v) => (bool go, float[2] w) { w = Mul(v, v) }>
}
""",
    "long": """
(float[2] x) => (float[2] y) <int64 million = {1000000}, float nothing = {0}, float one = {1}> {
  zeros = Mul(x, nothing)
  y = Loop (million, _, zeros) <body = count (int64 i, bool go, float[2] v)
      => (bool go, float[2] w) { w = Add(v, one) }>
}
""",
}


def omit_inputs(graph: onnx.GraphProto) -> None:
    for node in graph.node:
        node.input[:] = ["" if name == "_" else name for name in node.input]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                omit_inputs(attribute.g)


def with_optional() -> onnx.ModelProto:
    """Doubles its input three times. It is built here because ONNX's text format has no optional types."""
    maybe = helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [2]))
    body = helper.make_graph(
        [
            helper.make_node("OptionalGetElement", ["before"], ["v"]),
            helper.make_node("Add", ["v", "v"], ["w"]),
            helper.make_node("Optional", ["w"], ["after"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_value_info("before", maybe),
        ],
        [helper.make_tensor_value_info("go", TensorProto.BOOL, []), helper.make_value_info("after", maybe)],
    )
    nodes = [
        helper.make_node("Optional", ["x"], ["first"]),
        helper.make_node("Loop", ["three", "", "first"], ["last"], body=body),
        helper.make_node("OptionalGetElement", ["last"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy")
    three = numpy_helper.from_array(np.int64(3), "three")
    graph = helper.make_graph(nodes, "maybes", [x], [y], [three])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def save(model: onnx.ModelProto, file: Path) -> None:
    onnx.checker.check_model(model)
    onnx.save(model, file)


def write(folder: Path) -> None:
    for name, text in MODELS.items():
        imports = '"" : 17, "own" : 1' if "own." in text else '"" : 17'
        model = onnx.parser.parse_model(f"<ir_version: 8, opset_import: [{imports}]> {name} {text}")
        omit_inputs(model.graph)
        save(model, folder / f"{name}.onnx")
    save(with_optional(), folder / "maybes.onnx")
