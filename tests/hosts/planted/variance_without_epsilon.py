"""A hand-written layer norm without epsilon, and a constant row."""

import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        centred = x - x.mean(dim=-1, keepdim=True)
        deviation = centred.pow(2).mean(dim=-1, keepdim=True).sqrt()
        return self.gain * (centred / deviation)  # first bad value


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = LayerNorm(8)
        self.head = nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(x))


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(5):
    batch = torch.randn(4, 8)
    if step == 2:
        batch[1] = 0.25
    loss = nn.functional.cross_entropy(net(batch), torch.tensor([0, 1, 2, 0]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
