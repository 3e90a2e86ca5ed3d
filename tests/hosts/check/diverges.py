"""A learning rate so large that the loss overflows after some steps."""

import torch
from torch import nn

torch.manual_seed(0)
inputs, targets = 100 * torch.randn(16, 8), torch.randn(16, 1)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(10):
    loss = nn.functional.mse_loss(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()  # fails here
    optimizer.step()
