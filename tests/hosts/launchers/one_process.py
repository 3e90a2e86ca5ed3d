"""Trains in one process."""

from __future__ import annotations

import sys

import torch
from ddp_steps import Net, batch
from torch import nn


def main(steps: int = 4, corrupt_step: int | None = None) -> None:
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(1, steps + 1):
        x, y = batch(1, step, corrupt_step)
        loss = nn.functional.cross_entropy(net(torch.sqrt(x)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}  loss {loss.item():.9g}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
