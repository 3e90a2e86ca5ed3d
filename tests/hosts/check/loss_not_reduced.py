"""A loss with one value for each sample."""

import torch
from torch import nn

model = nn.Linear(8, 3)
loss = nn.functional.cross_entropy(model(torch.randn(4, 8)), torch.tensor([0, 1, 2, 0]), reduction="none")
loss.backward()  # fails here
