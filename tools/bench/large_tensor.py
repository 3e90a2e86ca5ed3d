"""A job with one large weight, which is downloaded before the first step."""

from __future__ import annotations

import sys

import torch
from torch import nn


class Large(nn.Module):
    def __init__(self, rows: int, columns: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.full((rows, columns), 0.5))

    def forward(self) -> torch.Tensor:
        return self.weight[0].sum()


if __name__ == "__main__":
    model = Large(int(sys.argv[1]), int(sys.argv[2]))
    model().backward()
