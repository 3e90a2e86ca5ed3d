"""A script that handles errors by exiting, without a traceback."""

import sys

import torch
from torch import nn

model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU())
try:
    model(torch.randn(4, 1, 28, 28))  # fails here
except RuntimeError as error:
    print(f"training failed: {error}")
    sys.exit(1)
