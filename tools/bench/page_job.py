"""A job for the benchmark of the page: a weight of shape [1000, 1000], and steps of 10,000
ops."""

from __future__ import annotations

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.square = nn.Linear(1000, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.square(x)
        # Each op is a separate node.
        for _ in range(10_000):
            y = torch.neg(y)
        return y


def main() -> None:
    torch.manual_seed(0)
    model, x = Net(), torch.randn(8, 1000)
    with torch.no_grad():
        while True:
            model(x)


main()
