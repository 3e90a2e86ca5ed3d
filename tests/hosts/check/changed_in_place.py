"""Changes a tensor that the backward pass needs."""

import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 3), nn.Sigmoid())
output = model(torch.randn(4, 8))
output += 1
output.sum().backward()  # fails here
