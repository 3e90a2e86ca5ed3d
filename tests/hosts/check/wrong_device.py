"""Inputs on another device than the model. The device meta exists on every machine."""

import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
inputs = torch.zeros(4, 8, device="meta")
logits = model(inputs)  # fails here
