"""Labels that start at 1, for a model with as many outputs as classes."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 3)
labels = torch.tensor([1, 2, 3, 3])
loss = nn.functional.cross_entropy(model(torch.randn(4, 8)), labels)  # fails here
loss.backward()
