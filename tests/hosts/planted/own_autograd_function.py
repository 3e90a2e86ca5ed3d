"""A custom backward function that divides by an activation that can be zero."""

import torch
from torch import nn


class Squash(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor) -> torch.Tensor:
        y = x.clamp(min=0)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad: torch.Tensor) -> torch.Tensor:
        x, y = ctx.saved_tensors
        return grad * (y / x)  # first bad value


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(5, 7)
        self.second = nn.Linear(7, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(Squash.apply(self.first(x)))


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)
for step in range(5):
    if step == 2:
        with torch.no_grad():
            net.first.weight[0].zero_()
            net.first.bias[0].zero_()
    loss = net(torch.randn(9, 5)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
