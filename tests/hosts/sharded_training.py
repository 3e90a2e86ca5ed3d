"""Trains a small model in one process, or, if RANK is set, in two that each have half of the hidden units.

Argument: a file that does not exist, by which the ranks find each other.
"""

import os
import sys

import torch
from torch import distributed, nn
from torch.nn import functional as F

SIZE = 64
sharded = "RANK" in os.environ
rank = int(os.environ.get("RANK", 0))
if sharded:
    distributed.init_process_group("gloo", init_method=f"file://{sys.argv[1]}", rank=rank, world_size=2)


class Sum(torch.autograd.Function):
    """Adds up what the ranks have."""

    @staticmethod
    def forward(ctx, part):
        total = part.clone()
        distributed.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(16, SIZE), nn.Linear(SIZE, 4, bias=False)
        if sharded:
            own = slice(rank * SIZE // 2, (rank + 1) * SIZE // 2)
            self.first.weight = nn.Parameter(self.first.weight.detach()[own].clone())
            self.first.bias = nn.Parameter(self.first.bias.detach()[own].clone())
            self.second.weight = nn.Parameter(self.second.weight.detach()[:, own].clone())

    def forward(self, x):
        result = self.second(torch.tanh(self.first(x)))
        return Sum.apply(result) if sharded else result


torch.manual_seed(0)
model = Model()
# The biases of the second half are wrong from step 3 on.
faulty = os.environ.get("FAULTY") == "1" and rank == 1
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(1, 5):
    x, labels = torch.randn(8, 16), torch.randint(0, 4, (8,))
    if faulty and step == 3:
        with torch.no_grad():
            model.first.bias.add_(1e-3)
    loss = F.cross_entropy(model(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
