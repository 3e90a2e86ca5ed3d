"""The training loops whose overhead is measured: from a toy model, where every nanosecond
per op matters, to models with expensive ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

Step = Callable[[], torch.Tensor]


def _digits() -> tuple[torch.Tensor, torch.Tensor]:
    from sklearn.datasets import load_digits

    digits = load_digits()
    return torch.tensor(digits.images, dtype=torch.float32)[:64] / 16, torch.tensor(digits.target)[:64]


def _training(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor, y: torch.Tensor) -> Step:
    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x).flatten(0, -2), y.flatten())
        loss.backward()
        optimizer.step()
        return loss

    return step


def mlp() -> Step:
    """Handwritten digits, 64-128-64-10, Adam: about 0.3 ms per step, the worst case."""
    x, y = _digits()
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))
    return _training(model, torch.optim.Adam(model.parameters()), x, y)


def cnn() -> Step:
    """Handwritten digits, two convolutions with batch normalization, SGD with momentum."""
    x, y = _digits()
    model = nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(128, 10)),
    )
    return _training(model, torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), x.unsqueeze(1), y)


class _Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(x + self.norm2(self.conv2(y)))


def _momentum(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)


def resnet(images: int = 32, optimizer: Callable[[Any], torch.optim.Optimizer] = _momentum) -> Step:
    """A small residual network on images of 32x32, SGD with momentum."""
    model = nn.Sequential(
        *(nn.Conv2d(3, 32, 3, padding=1), _Residual(32), _Residual(32), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3, padding=1), _Residual(64), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)),
    )
    x, y = torch.randn(images, 3, 32, 32), torch.randint(10, (images,))
    return _training(model, optimizer(model.parameters()), x, y)


def transformer() -> Step:
    """Two encoder layers of width 256 on 8 sequences of 128, AdamW."""
    layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.1, batch_first=True)
    model = nn.Sequential(nn.Embedding(1000, 256), nn.TransformerEncoder(layer, 2), nn.Linear(256, 1000))
    x, y = torch.randint(1000, (8, 128)), torch.randint(1000, (8, 128))
    return _training(model, torch.optim.AdamW(model.parameters(), lr=1e-4), x, y)


def short_resnet() -> Step:
    """The same on 16 images: a step of about 50 ms."""
    return resnet(images=16)


def adamw_resnet() -> Step:
    """The residual network on 32 images with AdamW, which overwrites three times the size of the weights."""
    return resnet(optimizer=lambda parameters: torch.optim.AdamW(parameters, lr=1e-3))


# By name: a function that makes the training step, and the number of steps per measurement.
WORKLOADS: dict[str, tuple[Callable[[], Step], int]] = {
    "mlp": (mlp, 300),
    "cnn": (cnn, 60),
    "resnet": (resnet, 3),
    "transformer": (transformer, 3),
    "short_resnet": (short_resnet, 8),
    "adamw_resnet": (adamw_resnet, 3),
}
# Those whose overhead `tools/dev bench agent` measures unless told otherwise.
USUAL = ("mlp", "cnn", "resnet", "transformer")
