"""Two ranks that the script starts itself, one of which gets too many features."""

import os
import socket

import torch
import torch.distributed as dist
from torch import nn


def train(rank: int, port: int) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    dist.init_process_group("gloo", rank=rank, world_size=2)
    model = nn.parallel.DistributedDataParallel(nn.Linear(8, 3))
    loss = model(torch.randn(4, 8 + rank)).sum()  # fails here
    loss.backward()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(train, args=(port,), nprocs=2)
