"""The training that the launchers of this directory start: data parallel, with an optional NaN on one rank."""

from __future__ import annotations

import argparse
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--timeout", type=float, default=60, help="seconds that ranks wait for each other")
    parser.add_argument("--corrupt-step", type=int, help="step in which rank 1 computes a NaN")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--method", default="spawn", help="how multiprocessing starts processes")
    return parser.parse_args()


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(8, 16)
        self.head = nn.Linear(16, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.body(x)))


def batch(rank: int, step: int, corrupt_step: int | None) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1000 * rank + step)
    x = torch.rand(4, 8, generator=generator)
    if rank == 1 and step == corrupt_step:
        x[0, 0] = -1.0
    return x, torch.randint(3, (4,), generator=generator)


def train(rank: int, size: int, init_method: str, arguments: argparse.Namespace) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo", init_method=init_method, rank=rank, world_size=size)
    # The time limit is for the training only: the ranks do not start at the same time.
    dist.barrier()
    group = dist.new_group(timeout=timedelta(seconds=arguments.timeout))
    net = DistributedDataParallel(Net(), process_group=group)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(1, arguments.steps + 1):
        x, y = batch(rank, step, arguments.corrupt_step)
        features = torch.sqrt(x)  # first bad value
        loss = nn.functional.cross_entropy(net(features), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        # A single write, because all ranks write to one pipe.
        print(f"step {step}  rank {rank}  loss {loss.item():.9g}\n", end="", flush=True)
    dist.destroy_process_group()
    # Gloo's threads outlive the group, and must not release Python objects after Python has ended.
    time.sleep(0.5)
