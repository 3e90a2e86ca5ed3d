"""Is killed in its first forward pass, as by the kernel when memory is exhausted."""

import os
import signal

import torch
from torch import nn


class Large(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 3)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        os.kill(os.getpid(), signal.SIGKILL)
        return self.layer(inputs)


Large()(torch.randn(4, 8))
