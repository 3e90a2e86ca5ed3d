"""Runs one model in one mode. Reads numbers of runs from standard input, and prints the
CPU time of these runs in seconds. `--export` makes the models."""

from __future__ import annotations

import itertools
import sys
import time
from pathlib import Path


def export(folder: Path) -> None:
    import torch
    from torch import nn

    def block(before: int, after: int) -> list[nn.Module]:
        return [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU()]

    torch.manual_seed(0)
    torch.backends.mha.set_fastpath_enabled(False)
    sizes = [3, 16, 32, 64, 64, 64, 64, 64, 64]
    cnn = nn.Sequential(*(layer for pair in itertools.pairwise(sizes) for layer in block(*pair)))
    layer = nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True, dropout=0.0)
    models = {
        "cnn": (cnn, torch.randn(4, 3, 32, 32)),
        "transformer": (nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), torch.randn(4, 64, 256)),
    }
    for name, (model, given) in models.items():
        model.eval().requires_grad_(False)
        # The model is exported unoptimized, because folding batch normalizations is a part
        # of ONNX Runtime's optimizations.
        options = {"dynamo": False, "input_names": ["x"], "do_constant_folding": False}
        torch.onnx.export(
            model, (given,), str(folder / f"{name}.onnx"), training=torch.onnx.TrainingMode.PRESERVE, **options
        )


def main() -> None:
    file, mode, optimized = sys.argv[1:]
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    if optimized == "0":
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    model: str | bytes = file
    if mode == "marked":
        import onnx

        marked = onnx.load(file)
        known = {output.name for output in marked.graph.output}
        names = [name for node in marked.graph.node for name in node.output if name and name not in known]
        marked.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
        model = marked.SerializeToString()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    shape = session.get_inputs()[0].shape
    feeds = {"x": np.random.default_rng(0).standard_normal(shape).astype(np.float32)}
    for _ in range(3):
        session.run(None, feeds)
    print("ready", flush=True)
    for line in sys.stdin:
        cpu = time.process_time()
        for _ in range(int(line)):
            session.run(None, feeds)
        print(time.process_time() - cpu, flush=True)


if sys.argv[1] == "--export":
    export(Path(sys.argv[2]))
else:
    main()
