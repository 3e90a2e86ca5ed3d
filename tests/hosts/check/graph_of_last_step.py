"""Carries a hidden state from step to step without detaching it."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.GRUCell(4, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
state = torch.zeros(2, 8)
for _ in range(3):
    state = model(torch.randn(2, 4), state)
    optimizer.zero_grad()
    state.square().mean().backward()  # fails here
    optimizer.step()
