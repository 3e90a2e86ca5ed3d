"""A loss that is computed from a detached output."""

import torch
from torch import nn

model = nn.Linear(8, 3)
logits = model(torch.randn(4, 8)).detach()
loss = nn.functional.cross_entropy(logits, torch.tensor([0, 1, 2, 0]))
loss.backward()  # fails here
