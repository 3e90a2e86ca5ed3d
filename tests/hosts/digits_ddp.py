"""Trains on the handwritten digits with several processes, started by torchrun.

An ordinary distributed data parallel script: each rank has a share of the images,
and gradients are averaged over all ranks in each step. Options corrupt one record of
one rank's share, which makes its features NaN.
"""

import argparse
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--timeout", type=float, default=60, help="seconds that ranks wait for each other")
    parser.add_argument("--corrupt-rank", type=int)
    parser.add_argument("--corrupt-step", type=int, default=1)
    parser.add_argument("--lag", type=float, default=0, help="seconds by which the other ranks are slower")
    arguments = parser.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=arguments.timeout))
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    digits = load_digits()
    images = torch.tensor(digits.data, dtype=torch.float32)[rank::size]
    labels = torch.tensor(digits.target)[rank::size]

    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    try:
        for step in range(1, arguments.steps + 1):
            batch = torch.randint(len(images), (32,))
            chosen = images[batch]
            if rank == arguments.corrupt_rank and step == arguments.corrupt_step:
                chosen[3, 5] = -1.0
            features = torch.sqrt(chosen)  # first bad value
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(features), labels[batch])
            loss.backward()
            if rank != arguments.corrupt_rank:
                time.sleep(arguments.lag)
            optimizer.step()
            # A single write, because all ranks write to one pipe.
            print(f"step {step:4d}  rank {rank}  loss {loss.item():.9g}\n", end="", flush=True)
    finally:
        dist.destroy_process_group()
        # Gloo's threads outlive the group. If one of them releases the last
        # collective, which holds a Python object, after Python has ended, PyTorch
        # aborts the process.
        time.sleep(0.5)


if __name__ == "__main__":
    main()
