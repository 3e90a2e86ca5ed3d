"""A model of nested modules, in which every second step takes another way."""

import argparse

import torch


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(8, 8)
        self.second = torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor, both: bool) -> torch.Tensor:
        x = self.first(x)
        x = torch.relu(x).mul(0.5).sub(0.1).tanh().add(x)  # five ops
        if both:
            x = self.second(x)
        return x.square()


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(8))
        self.block = Block()
        self.head = torch.nn.Linear(8, 1)

    def forward(self, x: torch.Tensor, both: bool) -> torch.Tensor:
        x = x + self.bias
        x = self.block(x, both)
        x = x.exp()
        return self.head(x)


parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=1000)
arguments = parser.parse_args()

torch.manual_seed(0)
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(1, arguments.steps + 1):
    loss = model(torch.randn(4, 8), both=step % 2 == 0).log1p().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
