"""A loss with the square root of a negative number."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = torch.sqrt(model(torch.randn(4, 8)) - 100).mean()
    optimizer.zero_grad()
    loss.backward()  # fails here
    optimizer.step()
