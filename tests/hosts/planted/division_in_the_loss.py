"""A masked mean whose mask can be empty, outside of any module."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for step in range(6):
    x = torch.randn(8, 6)
    mask = torch.zeros(8) if step == 4 else (torch.rand(8) > 0.3).float()
    error = (model(x).squeeze(1) - x.sum(dim=1)) ** 2
    loss = (error * mask).sum() / mask.sum()  # first bad value
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
