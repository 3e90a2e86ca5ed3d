"""Trains small models as they should be and with faults, and records each training as a run of its own.

Arguments: DIRECTORY MODEL-FAULT[+FAULT][-THREADS] ...; each run is named after its argument. Faults begin in step
FAULT_STEP, except those in FROM_THE_START.
"""

import json
import math
import os
import sys

import torch
from torch import nn
from torch.nn import functional as F

STEPS, FAULT_STEP = 4, 3


class Attention(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        # The gradient of the key's part of the joint bias is zero in theory, and Adam amplifies its rounding errors.
        self.joint, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.scale, self.late, self.dimension = 1 / math.sqrt(size // heads), 0, -1

    def forward(self, x):
        batch, length, size = x.shape
        q, k, v = self.joint(x).view(batch, length, 3, self.heads, size // self.heads).permute(2, 0, 3, 1, 4)
        later = torch.ones(length, length, dtype=torch.bool).triu(1 + self.late)
        weights = (q @ k.transpose(-1, -2) * self.scale).masked_fill(later, -1e9).softmax(self.dimension)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, size))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.before = nn.Embedding(40, 32), nn.LayerNorm(32)
        self.attention, self.behind = Attention(32, 4), nn.LayerNorm(32)
        self.wide, self.gelu, self.narrow = nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32)
        self.head = nn.Linear(32, 40)
        self.residual = True

    def forward(self, tokens):
        x = self.embedding(tokens)
        y = self.attention(self.before(x))
        x = x + y if self.residual else y
        return self.head(x + self.narrow(self.gelu(self.wide(self.behind(x)))))


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.Conv2d(8, 8, 3, 2)
        self.drop, self.head = nn.Dropout(0.2), nn.Linear(8 * 16, 10)
        self.transposed = self.half = False

    def forward(self, images):
        x = self.second(F.relu(self.norm(self.first(images)))).relu()
        x = F.adaptive_avg_pool2d(x, 4)
        x = self.drop(x.transpose(-1, -2) if self.transposed else x).flatten(1)
        return self.head(x.bfloat16().float() if self.half else x)


class Dense(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = nn.Linear(64, 128), nn.Linear(128, 128), nn.Linear(128, 10)
        self.transposed = False

    def forward(self, x):
        x = torch.tanh(self.first(x))
        weight = self.second.weight
        x = F.linear(x, weight.t() if self.transposed else weight, self.second.bias).sigmoid()
        return self.third(x)


class Refactored(nn.Module):
    """Dense with other names."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({"0": nn.Linear(64, 128), "1": nn.Linear(128, 128)})
        self.classifier = nn.ModuleDict({"out": nn.Linear(128, 10)})
        self.transposed = False

    def forward(self, x):
        x = torch.tanh(self.layers["0"](x))
        weight = self.layers["1"].weight
        x = F.linear(x, weight.t() if self.transposed else weight, self.layers["1"].bias).sigmoid()
        return self.classifier["out"](x)


def batch_of(model):
    if isinstance(model, Transformer):
        tokens = torch.randint(0, 40, (8, 17))
        return tokens[:, :-1], tokens[:, 1:].reshape(-1)
    shape = (16, 3, 12, 12) if isinstance(model, Convolutions) else (32, 64)
    return torch.randn(shape), torch.randint(0, 10, shape[:1])


def adam(model, rate=1e-3, decay=0.01, second=0.999, epsilon=1e-8):
    return torch.optim.AdamW(model.parameters(), rate, (0.9, second), epsilon, decay)


def sgd(model, rate=0.05, momentum=0.9):
    return torch.optim.SGD(model.parameters(), rate, momentum)


MODELS = {
    "transformer": (Transformer, adam),
    # Adam makes whole steps of rounding errors, however small they are.
    "amplified": (Transformer, lambda model: adam(model, rate=1e-2, epsilon=1e-15)),
    "convolutions": (Convolutions, sgd),
    "dense": (Dense, adam),
    "refactored": (Refactored, adam),
}


def set_option(name, value):
    def change(training):
        training.optimizer.param_groups[0][name] = value

    return change


def set_attribute(path, value):
    def change(training):
        *parents, name = path.split(".")
        owner = training.model
        for parent in parents:
            owner = getattr(owner, parent)
        setattr(owner, name, value)

    return change


def set_field(name, value):
    return lambda training: setattr(training, name, value)


def compile_model(training):
    training.call = torch.compile(training.model, backend="aot_eager")


def init_differently(training):
    with torch.no_grad():
        training.model.head.weight.mul_(1.01)


# The change that each fault makes before a step.
FAULTS = {
    "none": lambda training: None,
    "labels": set_field("roll", 1),
    "element": set_field("element", True),
    "rate": set_option("lr", 2e-3),
    "epsilon": set_option("eps", 1e-4),
    "decay": set_option("weight_decay", 0.5),
    "beta2": set_option("betas", (0.9, 0.9)),
    "momentum": set_option("momentum", 0.5),
    "gelu": set_attribute("gelu.approximate", "tanh"),
    "smoothing": set_field("smoothing", 0.1),
    "reduction": set_field("reduction", "sum"),
    "clip": set_field("clip", 0.1),
    "dropout": set_attribute("drop.p", 0.4),
    "residual": set_attribute("residual", False),
    "transposed": set_attribute("transposed", True),
    "softmax": set_attribute("attention.dimension", -2),
    "scale": set_attribute("attention.scale", 1.0),
    "mask": set_attribute("attention.late", 1),
    "padding": set_attribute("second.padding", (1, 1)),
    "initialization": init_differently,
    "frozen": lambda training: training.model.narrow.weight.requires_grad_(False),
    "norm": set_attribute("norm.momentum", 0.5),
    "norm_epsilon": set_attribute("before.eps", 1e-2),
    "cast": set_attribute("half", True),
    "bfloat16": set_field("bfloat16", True),
    "compiled": compile_model,
}
FROM_THE_START = ("initialization", "bfloat16", "compiled")


class Training:
    def __init__(self, kind):
        torch.manual_seed(0)
        make, optimizer = MODELS[kind]
        self.model = make()
        self.call = self.model
        self.optimizer = optimizer(self.model)
        self.bfloat16 = False
        self.roll, self.element, self.smoothing, self.reduction, self.clip = 0, False, 0.0, "mean", None

    def step(self):
        inputs, labels = batch_of(self.model)
        if self.element:
            inputs[1, 1] += 1
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bfloat16):
            outputs = self.call(inputs).flatten(0, -2).float()
        loss = F.cross_entropy(
            outputs, labels.roll(self.roll), label_smoothing=self.smoothing, reduction=self.reduction
        )
        self.optimizer.zero_grad()
        loss.backward()
        if self.clip is not None:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimizer.step()


def train(kind, faults):
    training = Training(kind)
    for step in range(1, STEPS + 1):
        for fault in faults:
            if step == (1 if fault in FROM_THE_START else FAULT_STEP):
                FAULTS[fault](training)
        training.step()


def main():
    directory, *names = sys.argv[1:]
    settings = {"record": {"overhead": 0}, "collections": [{"name": "all"}]}
    os.environ |= {"GRAPHDBG_RECORD": directory, "GRAPHDBG_RECORD_SETTINGS": json.dumps(settings)}
    from graphdbg._torch import follow

    for name in names:
        kind, faults, *threads = name.split("-")
        torch.set_num_threads(int(threads[0]) if threads else 1)
        os.environ["GRAPHDBG_JOB"] = name
        adapter = follow.open_job(name)
        train(kind, faults.split("+"))
        adapter.close(0, None, None, None)
        follow.close_job()


main()
