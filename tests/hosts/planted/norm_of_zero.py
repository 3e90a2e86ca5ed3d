"""The gradient of a norm at zero: forward is fine, backward divides by zero."""

import torch
from torch import nn


class Normalize(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / torch.sqrt((x * x).sum(dim=1, keepdim=True) + 0.0).clamp(min=1e-6)  # first bad value


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8, bias=False), nn.ReLU(), Normalize(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(6):
    x = torch.randn(16, 4)
    if step == 3:
        x[5] = 0.0
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()
