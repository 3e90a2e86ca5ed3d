"""Synthetic graphs of training jobs, as the PyTorch adapter would report them, of any size.

`resnet()` has about 3,000 nodes, `transformer(layers)` about 290 per layer, and
`transformer(layers, experts=8)` about 1,200 per layer. Forward ops are in the scope of
their module and backward ops in that of their forward op. The optimizer has no fused
kernels, and its many small ops are all in one scope."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

OP, PARAMETER, BUFFER, CONSTANT, INPUT = 1, 2, 3, 4, 5
OTHER, WEIGHT, GRADIENT, ACTIVATION, OPTIMIZER = 0, 1, 2, 3, 4


@dataclass
class Node:
    name: str
    kind: int
    category: int
    op_type: str
    shape: tuple[int, ...]
    inputs: list[Node] = field(default_factory=list)
    line: int = 0


class Builder:
    """Adds nodes in execution order. Duplicate names get numbers, as in real graphs."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.classes: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def _add(self, node: Node) -> Node:
        count = self._counts.get(node.name, 0)
        self._counts[node.name] = count + 1
        if count > 0:
            node.name = f"{node.name}_{count}"
        self.nodes.append(node)
        return node

    def op(self, scope: str, label: str, shape: tuple[int, ...], *inputs: Node, line: int = 1) -> Node:
        category = {"b": GRADIENT, "o": OPTIMIZER}.get(scope[0], ACTIVATION)
        return self._add(Node(f"{scope}/{label}", OP, category, f"aten::{label}", shape, list(inputs), line))

    def parameter(self, scope: str, label: str, *shape: int) -> Node:
        return self._add(Node(f"{scope}/{label}", PARAMETER, WEIGHT, "", shape))

    def buffer(self, scope: str, label: str, *shape: int) -> Node:
        return self._add(Node(f"{scope}/{label}", BUFFER, OTHER, "", shape))

    def linear(self, scope: str, x: Node, to: int, line: int) -> Node:
        self.classes[scope] = "Linear"
        width = x.shape[-1]
        weight, bias = self.parameter(scope, "weight", to, width), self.parameter(scope, "bias", to)
        turned = self.op(scope, "t", (width, to), weight, line=line)
        flat = self.op(scope, "view", (512, width), x, line=line)
        return self.op(scope, "addmm", (512, to), bias, flat, turned, line=line)

    def layer_norm(self, scope: str, x: Node, line: int) -> Node:
        self.classes[scope] = "LayerNorm"
        weight, bias = self.parameter(scope, "weight", x.shape[-1]), self.parameter(scope, "bias", x.shape[-1])
        return self.op(scope, "native_layer_norm", x.shape, x, weight, bias, line=line)


BACKWARD = {
    "addmm": ("t", "mm", "t", "mm", "sum"),
    "matmul": ("transpose", "matmul", "transpose", "matmul"),
    "convolution": ("convolution_backward",),
    "native_layer_norm": ("native_layer_norm_backward",),
    "native_batch_norm": ("native_batch_norm_backward",),
    "_softmax": ("_softmax_backward_data",),
    "gelu": ("gelu_backward",),
    "relu": ("threshold_backward",),
    "masked_fill": ("masked_fill",),
    "add": (),
}
ADAMW = ("add_", "pow", "rsub", "mul_", "lerp_", "mul_", "addcmul_", "pow", "sqrt", "div", "add_", "addcdiv_")


def finish(b: Builder, loss: Node) -> Builder:
    """Adds the backward pass and the optimizer."""
    gradient = b.op("backward", "ones_like", (), loss)
    gradients: dict[int, Node] = {}
    for forward in [n for n in reversed(b.nodes) if n.kind == OP and n.name.startswith("forward/")]:
        scope = "backward" + forward.name[len("forward") : forward.name.rindex("/")]
        if forward.name.count("/") > 1:
            b.classes[scope] = b.classes.get("forward" + scope[len("backward") :], "")
        label = forward.op_type.removeprefix("aten::")
        for name in BACKWARD.get(label, (label,)):
            gradient = b.op(scope, name, forward.shape, gradient, forward, line=forward.line)
        for read in forward.inputs:
            if read.kind == PARAMETER:
                gradients[id(read)] = gradient
    scope = "optimizer/AdamW"
    rate = b._add(Node(f"{scope}/lr", CONSTANT, OTHER, "", ()))
    for parameter in [n for n in b.nodes if n.kind == PARAMETER]:
        moment = b.buffer(scope, "exp_avg", *parameter.shape)
        square = b.buffer(scope, "exp_avg_sq", *parameter.shape)
        x = gradients.get(id(parameter), gradient)
        for place, label in enumerate(ADAMW):
            state = (parameter, moment, square)[place % 3]
            x = b.op(scope, label, parameter.shape, state, x, *([rate] if place in (3, 11) else []), line=400 + place)
    return b


def resnet(stages: tuple[int, ...] = (3, 4, 6, 3)) -> Builder:
    b = Builder()
    x = b._add(Node("forward/x", INPUT, OTHER, "", (32, 3, 224, 224)))

    def conv(scope: str, x: Node, to: int, size: int, line: int) -> Node:
        b.classes[scope] = "Conv2d"
        weight = b.parameter(scope, "weight", to, x.shape[1], 3, 3)
        return b.op(scope, "convolution", (32, to, size, size), x, weight, line=line)

    def norm(scope: str, x: Node, line: int) -> Node:
        b.classes[scope] = "BatchNorm2d"
        state = [b.parameter(scope, k, x.shape[1]) for k in ("weight", "bias")]
        state += [b.buffer(scope, k, x.shape[1]) for k in ("running_mean", "running_var")]
        return b.op(scope, "native_batch_norm", x.shape, x, *state, line=line)

    b.classes["forward"] = "ResNet"
    x = b.op("forward", "relu", (32, 64, 112, 112), norm("forward/bn1", conv("forward/conv1", x, 64, 112, 20), 21))
    for stage, blocks in enumerate(stages):
        b.classes[f"forward/layer{stage + 1}"] = "Sequential"
        for block in range(blocks):
            scope = f"forward/layer{stage + 1}/{block}"
            b.classes[scope] = "Bottleneck"
            size, width, kept = 56 >> stage, 64 << stage, x
            for i in (1, 2, 3):
                x = norm(
                    f"{scope}/bn{i}", conv(f"{scope}/conv{i}", x, width * (4 if i == 3 else 1), size, 30 + i), 30 + i
                )
                if i < 3:
                    x = b.op(scope, "relu", x.shape, x, line=30 + i)
            if block == 0:
                b.classes[f"{scope}/downsample"] = "Sequential"
                kept = norm(f"{scope}/downsample/1", conv(f"{scope}/downsample/0", kept, width * 4, size, 40), 40)
            x = b.op(scope, "relu", x.shape, b.op(scope, "add", x.shape, x, kept, line=41), line=42)
    x = b.op("forward", "mean", (32, x.shape[1]), x, line=50)
    return finish(b, b.op("forward", "nll_loss", (), b.linear("forward/fc", x, 1000, 51), line=52))


def attention(b: Builder, scope: str, x: Node, mask: Node) -> Node:
    b.classes[scope] = "SelfAttention"
    split = [b.op(scope, "split", x.shape, b.linear(f"{scope}/qkv", x, 3 * 768, 61), line=62)]
    heads = []
    for _ in "qkv":
        view = b.op(scope, "view", (8, 64, 12, 64), split[0], line=63)
        heads.append(b.op(scope, "transpose", (8, 12, 64, 64), view, line=64))
    scores = b.op(scope, "matmul", (8, 12, 64, 64), heads[0], heads[1], line=65)
    scores = b.op(scope, "div", scores.shape, scores, line=66)
    scores = b.op(scope, "masked_fill", scores.shape, scores, mask, line=67)
    weights = b.op(scope, "_softmax", scores.shape, scores, line=68)
    mixed = b.op(scope, "matmul", (8, 12, 64, 64), weights, heads[2], line=69)
    joined = b.op(scope, "view", (8, 64, 768), b.op(scope, "transpose", (8, 64, 12, 64), mixed, line=70), line=70)
    return b.linear(f"{scope}/proj", joined, 768, 71)


def mlp(b: Builder, scope: str, x: Node) -> Node:
    b.classes[scope] = "MLP"
    hidden = b.op(scope, "gelu", (512, 3072), b.linear(f"{scope}/fc", x, 3072, 81), line=82)
    return b.linear(f"{scope}/proj", hidden, 768, 83)


def experts_of(b: Builder, scope: str, x: Node, experts: int) -> Node:
    b.classes[scope] = "MixtureOfExperts"
    gate = b.op(
        f"{scope}/router", "_softmax", (512, experts), b.linear(f"{scope}/router/gate", x, experts, 91), line=92
    )
    total = b.op(scope, "zeros_like", x.shape, x, line=93)
    for i in range(experts):
        chosen = b.op(f"{scope}/experts/{i}", "index_select", (64, 768), x, gate, line=94)
        made = mlp(b, f"{scope}/experts/{i}", chosen)
        total = b.op(scope, "index_add", x.shape, total, b.op(scope, "mul", (64, 768), made, gate, line=95), line=96)
    return total


def transformer(layers: int, experts: int = 0) -> Builder:
    b = Builder()
    tokens = b._add(Node("forward/tokens", INPUT, OTHER, "", (8, 64)))
    mask = b.buffer("forward", "mask", 64, 64)
    b.classes |= {"forward": "GPT", "forward/embed": "Embedding", "forward/layers": "ModuleList"}
    x = b.op("forward/embed", "embedding", (8, 64, 768), b.parameter("forward/embed", "weight", 50257, 768), tokens)
    for layer in range(layers):
        scope = f"forward/layers/{layer}"
        b.classes[scope] = "Block"
        mixed = attention(b, f"{scope}/attn", b.layer_norm(f"{scope}/ln1", x, 101), mask)
        x = b.op(scope, "add", x.shape, x, mixed, line=102)
        normed = b.layer_norm(f"{scope}/ln2", x, 103)
        made = experts_of(b, f"{scope}/moe", normed, experts) if experts else mlp(b, f"{scope}/mlp", normed)
        x = b.op(scope, "add", x.shape, x, made, line=104)
    logits = b.linear("forward/head", b.layer_norm("forward/ln", x, 110), 50257, 111)
    return finish(b, b.op("forward", "nll_loss", (), b.op("forward", "_log_softmax", (512, 50257), logits), line=112))


GRAPHS: dict[str, Callable[[], Builder]] = {
    "3k": resnet,
    "20k": lambda: transformer(76),
    "100k": lambda: transformer(106, experts=8),
}


def sizes() -> Iterator[tuple[str, int]]:
    for name, make in GRAPHS.items():
        yield name, len(make().nodes)
