"""Inputs in float64, as NumPy makes them, for a model in float32."""

import numpy
import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
inputs = torch.from_numpy(numpy.random.default_rng(0).normal(size=(4, 8)))
logits = model(inputs)  # fails here
