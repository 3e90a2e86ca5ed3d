"""Runs two small models in turn, each on the output of the other.

encoder.onnx   codes = Relu(x · w)
decoder.onnx   x = Sigmoid(codes · v)
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper


def model(name: str, activation: str, source: str, target: str, weight: np.ndarray) -> onnx.ModelProto:
    nodes = [
        helper.make_node("MatMul", [source, "weight"], ["sums"], name="linear/MatMul"),
        helper.make_node(activation, ["sums"], [target], name=activation),
    ]
    given, made = [
        helper.make_tensor_value_info(value, TensorProto.FLOAT, [2, size])
        for value, size in zip((source, target), weight.shape, strict=True)
    ]
    graph = helper.make_graph(nodes, name, [given], [made], [numpy_helper.from_array(weight, "weight")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    generator = np.random.default_rng(0)
    weights = [generator.standard_normal(shape).astype(np.float32) for shape in ((4, 3), (3, 4))]
    with tempfile.TemporaryDirectory() as folder:
        encoder, decoder = Path(folder, "encoder.onnx"), Path(folder, "decoder.onnx")
        onnx.save(model("encoder", "Relu", "x", "codes", weights[0]), encoder)
        onnx.save(model("decoder", "Sigmoid", "codes", "x", weights[1]), decoder)
        sessions = [ort.InferenceSession(file, providers=["CPUExecutionProvider"]) for file in (encoder, decoder)]
    x = np.ones((2, 4), np.float32)
    for _ in range(runs):
        codes = sessions[0].run(None, {"x": x})[0]
        x = sessions[1].run(None, {"codes": codes})[0]


if __name__ == "__main__":
    main()
