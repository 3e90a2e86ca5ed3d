"""A learning rate that is far too large: one step later the squared error overflows."""

import torch
from torch import nn


class Stack(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(32, 32) for _ in range(4)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


torch.manual_seed(0)
model = Stack()
optimizer = torch.optim.SGD(model.parameters(), lr=1e9)
for _ in range(8):
    loss = (model(torch.randn(16, 32)) - 1.0).pow(2).sum().sqrt()  # first bad value
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
