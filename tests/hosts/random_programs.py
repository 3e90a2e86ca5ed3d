"""Runs random programs of 200 ops as training steps: views, writes in place, and random numbers.

The arguments are the number of programs and the first seed. The last op of each step is an optimizer's.
"""

import random
import sys

import torch
from torch import nn

OPS = 200
SIZE = 6


def unary(x, choose):
    return choose.choice([torch.sin, torch.tanh, torch.relu, torch.sigmoid, torch.neg, torch.clone, torch.abs])(x)


def view(x, choose):
    way = choose.randrange(6)
    if way == 0:
        return x.t()
    if way == 1:
        return x[choose.randrange(SIZE)].expand(SIZE, SIZE)
    if way == 2:
        return x.flip(0)
    if way == 3:
        return x.reshape(-1).roll(choose.randrange(SIZE)).view(SIZE, SIZE)
    if way == 4:
        return x.diagonal().unsqueeze(0).expand(SIZE, SIZE)
    return x.unfold(0, 1, 1).squeeze(-1)


def write(x, other, choose):
    """Writes to a part of a tensor."""
    part = choose.choice([x, x[1:], x[:, ::2], x.t(), x[choose.randrange(SIZE)], x.diagonal()])
    way = choose.randrange(9)
    if way == 0:
        part.mul_(0.5)
    elif way == 1:
        part.add_(choose.random())
    elif way == 2:
        part.copy_(other.flatten()[: part.numel()].reshape(part.shape))
    elif way == 3:
        part.zero_()
    elif way == 4:
        part.uniform_(-1, 1)
    elif way == 5:
        part.normal_()
    elif way == 6:
        part.clamp_(-1, 1)
    elif way == 7:
        x[choose.randrange(SIZE), choose.randrange(SIZE)] = choose.random()
    else:
        torch.sub(other, 0.1, out=x)


def fresh(choose):
    way = choose.randrange(6)
    if way == 0:
        return torch.randn(SIZE, SIZE)
    if way == 1:
        return torch.rand(SIZE, SIZE)
    if way == 2:
        made = torch.empty(SIZE, SIZE)
        made[::2] = 1
        made[1::2] = torch.randn(SIZE // 2, SIZE)
        return made
    if way == 3:
        # Comes from no op.
        return torch.from_numpy(__import__("numpy").random.rand(SIZE, SIZE).astype("float32"))
    if way == 4:
        return torch.randperm(SIZE * SIZE).float().view(SIZE, SIZE) / SIZE
    return torch.full((SIZE, SIZE), choose.random())


class Program(nn.Module):
    def __init__(self, seed):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(SIZE, SIZE))
        self.register_buffer("state", torch.zeros(SIZE, SIZE))
        self.seed = seed

    def forward(self):
        choose = random.Random(self.seed)
        with torch.no_grad():
            values = [torch.randn(SIZE, SIZE), self.state]
            for _ in range(OPS):
                x, other = choose.choice(values), choose.choice(values)
                way = choose.randrange(10)
                if way < 3:
                    values.append(unary(x, choose))
                elif way < 5:
                    values.append(choose.choice([torch.add, torch.mul, torch.matmul, torch.maximum])(x, other))
                    values[-1].clamp_(-2, 2)
                elif way == 5:
                    values.append(view(x, choose))
                elif way == 6:
                    values.append(fresh(choose))
                elif x.is_contiguous() and x.untyped_storage().nbytes() == 4 * SIZE * SIZE:
                    write(x, other.clone(), choose)
                if way == 9 and choose.random() < 0.1:
                    torch.manual_seed(choose.randrange(100))
                values = values[-12:] if self.state is values[-1] else [self.state, *values[-11:]]
        return (self.weight * sum(values)).sum()


if __name__ == "__main__":
    count, first = (int(each) for each in sys.argv[1:])
    for seed in range(first, first + count):
        torch.manual_seed(seed)
        program = Program(seed)
        optimizer = torch.optim.SGD(program.parameters(), lr=0.1, momentum=0.9, foreach=False)
        for _ in range(2):
            optimizer.zero_grad()
            program().backward()
            optimizer.step()
