"""Trains small models on the handwritten digits and exports them to ONNX.

make_models.py FOLDER

cnn.onnx          two convolutions, exported by PyTorch's current exporter
cnn_int8.onnx     the same model, quantized by ONNX Runtime
transformer.onnx  one layer over the image's rows, exported by the old exporter
lstm.onnx         an LSTM over the image's rows, exported by the old exporter
overflow.onnx     the CNN in fp16, with weights that make its second convolution
                  overflow
control.onnx      an If, a Loop and a Scan
large.onnx        the CNN with its weights in a separate file
scripted.onnx     a loop and a condition, exported from TorchScript

It also makes the models of control_flow.py.
"""

import sys
from pathlib import Path

import control_flow
import numpy as np
import onnx
import onnx.parser
import torch
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from sklearn.datasets import load_digits
from torch import nn


class Cnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(16 * 16, 10))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.conv1(images.unsqueeze(1)))
        x = torch.max_pool2d(torch.relu(self.conv2(x)), 2)
        return torch.log_softmax(self.head(x), dim=1)


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(8, 16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0)
        self.head = nn.Linear(16, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(self.head(self.layer(self.embed(images)).mean(1)), dim=1)


class Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.LSTM(8, 16, batch_first=True)
        self.head = nn.Linear(16, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        states, _ = self.rows(images)
        return torch.log_softmax(self.head(states[:, -1]), dim=1)


class Scripted(nn.Module):
    def forward(self, x: torch.Tensor, count: int) -> torch.Tensor:
        for _ in range(count * 3):
            x = torch.sin(x) + 1
        x = x * 2 if bool(x.sum() > 0) else x - 1
        return x


def trained(model: nn.Module, steps: int = 40) -> nn.Module:
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32) / 16
    labels = torch.tensor(digits.target)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        batch = torch.randint(len(images), (64,))
        optimizer.zero_grad()
        nn.functional.nll_loss(model(images[batch]), labels[batch]).backward()
        optimizer.step()
    return model.eval().requires_grad_(False)


def export(model: nn.Module, file: Path, **options: object) -> None:
    images = torch.randn(4, 8, 8, dtype=next(model.parameters()).dtype)
    torch.onnx.export(model, (images,), file, input_names=["images"], output_names=["scores"], **options)


def control(file: Path) -> None:
    """y = 2x if the sum of x is positive, else x / 2; then y + 1 three times; then cumulative sums of rows."""

    def branch(name: str, factor: float) -> onnx.GraphProto:
        nodes = [
            helper.make_node("Constant", [], [f"{name}_factor"], value_float=factor),
            helper.make_node("Mul", ["x", f"{name}_factor"], [f"{name}_out"], name=f"{name}_scale"),
        ]
        return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(f"{name}_out", 1, None)])

    body = helper.make_graph(
        [
            helper.make_node("Identity", ["keep"], ["keep_out"], name="go_on"),
            helper.make_node("Add", ["y", "one"], ["y_out"], name="increment"),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("keep", TensorProto.BOOL, []),
            helper.make_tensor_value_info("y", TensorProto.FLOAT, None),
        ],
        [
            helper.make_tensor_value_info("keep_out", TensorProto.BOOL, []),
            helper.make_tensor_value_info("y_out", TensorProto.FLOAT, None),
        ],
    )
    row = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in ("sum_in", "row", "sum_out", "out")]
    scan = helper.make_graph(
        [
            helper.make_node("Add", ["sum_in", "row"], ["sum_out"], name="add"),
            helper.make_node("Identity", ["sum_out"], ["out"], name="total"),
        ],
        "scan",
        row[:2],
        row[2:],
    )
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["sum"], name="sum", keepdims=0),
        helper.make_node("Greater", ["sum", "zero"], ["positive"], name="is_positive"),
        helper.make_node(
            "If", ["positive"], ["y0"], name="choose", then_branch=branch("then", 2.0), else_branch=branch("else", 0.5)
        ),
        helper.make_node("Loop", ["three", "", "y0"], ["y3"], name="repeat", body=body),
        helper.make_node("Scan", ["zeros", "y3"], ["last", "result"], name="sums", body=scan, num_scan_inputs=1),
    ]
    initializers = [
        numpy_helper.from_array(np.float32(0), "zero"),
        numpy_helper.from_array(np.float32(1), "one"),
        numpy_helper.from_array(np.int64(3), "three"),
        numpy_helper.from_array(np.zeros(3, np.float32), "zeros"),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
    result = helper.make_tensor_value_info("result", TensorProto.FLOAT, [2, 3])
    graph = helper.make_graph(nodes, "control", [x], [result], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, file)


FUNCTIONS = """
<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
functions (float[4, 3] x) => (float[4, 3] y) { a = own.soft <slope = 0.5> (x) y = own.soft <slope = 3.0> (a) }
<domain: "own", opset_import: ["" : 17]>
soft <slope> (v) => (w) { factor = Constant <value_float: float = @slope> () s = Mul(v, factor) w = Sigmoid(s) }
"""


def main() -> None:
    folder = Path(sys.argv[1])
    torch.manual_seed(0)
    # The fast path is one op for a whole layer, which ONNX does not have.
    torch.backends.mha.set_fastpath_enabled(False)
    cnn = trained(Cnn())
    export(cnn, folder / "cnn.onnx", dynamo=True, external_data=False)
    export(trained(Transformer()), folder / "transformer.onnx", dynamo=False, dynamic_axes={"images": {0: "batch"}})
    export(trained(Lstm()), folder / "lstm.onnx", dynamo=False)
    names = {"input_names": ["x", "count"], "output_names": ["y"]}
    torch.onnx.export(
        torch.jit.script(Scripted()), (torch.randn(3), 1), folder / "scripted.onnx", dynamo=False, **names
    )
    plain = onnx.load(folder / "cnn.onnx")
    # The quantizer fails if the model contains the exporter's shapes.
    del plain.graph.value_info[:]
    quantize_dynamic(plain, folder / "cnn_int8.onnx", weight_type=QuantType.QUInt8)
    control(folder / "control.onnx")
    control_flow.write(folder)
    onnx.save(onnx.parser.parse_model(FUNCTIONS), folder / "functions.onnx")
    with torch.no_grad():
        cnn.conv2.weight.mul_(1e5)
    export(cnn.half(), folder / "overflow.onnx", dynamo=False)
    large = onnx.load(folder / "cnn.onnx")
    onnx.save(large, folder / "large.onnx", save_as_external_data=True, location="large.data", size_threshold=200)


if __name__ == "__main__":
    main()
