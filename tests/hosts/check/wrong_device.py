"""Inputs on another device than the model. The device meta exists on every machine."""

import torch
from torch import nn

model = nn.Sequential(nn.Embedding(10, 16), nn.Linear(16, 3))
inputs = torch.zeros(4, dtype=torch.int64, device="meta")
logits = model(inputs)  # fails here
