"""Data parallel trainings, started by torchrun: two whose replicas diverge by mistake, and sound ones.

The first argument names the training:

nudged   rank 2 changes one element after step 3
unwrapped   the model inside DistributedDataParallel is called, which averages no gradients
sound   several trainings: gradient accumulation, sharding by hand, and local SGD
"""

import sys
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def make_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))


def batch(rank: int, step: int) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(1000 * rank + step)
    return torch.randn(4, 8), torch.randint(2, (4,))


def loss_of(model: nn.Module, rank: int, step: int) -> torch.Tensor:
    images, labels = batch(rank, step)
    return nn.functional.cross_entropy(model(images), labels)


def nudged(rank: int) -> None:
    model = DistributedDataParallel(make_model())
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(1, 31):
        optimizer.zero_grad()
        loss_of(model, rank, step).backward()
        optimizer.step()
        if rank == 2 and step == 3:
            with torch.no_grad():
                model.module[3].weight[1, 5] += 1e-6


def unwrapped(rank: int) -> None:
    model = DistributedDataParallel(make_model())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(1, 31):
        optimizer.zero_grad()
        loss_of(model.module, rank, step).backward()
        optimizer.step()
        # Ranks would not wait for each other otherwise.
        dist.barrier()


def accumulate(rank: int) -> None:
    model = DistributedDataParallel(make_model())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for step in range(1, 13):
        optimizer.zero_grad()
        for part in range(3):
            with nullcontext() if part == 2 else model.no_sync():
                loss_of(model, rank, 3 * step + part).backward()
        optimizer.step()


def shard_by_hand(rank: int) -> None:
    """Each rank has other columns of the first layer; the last one is copied by hand."""
    torch.manual_seed(rank)
    model = nn.Sequential(nn.Linear(8, 4), nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(1, 4):
        optimizer.zero_grad()
        hidden = model[0](batch(0, step)[0])
        total = hidden.detach().clone()
        dist.all_reduce(total)
        nn.functional.cross_entropy(model[1](hidden + total), batch(0, step)[1]).backward()
        optimizer.step()


def local_sgd(rank: int) -> None:
    model = DistributedDataParallel(make_model())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(1, 7):
        optimizer.zero_grad()
        with nullcontext() if step % 3 == 0 else model.no_sync():
            loss_of(model, rank, step).backward()
        optimizer.step()
        if step % 3 == 0:
            for parameter in model.parameters():
                dist.all_reduce(parameter.data)
                parameter.data /= dist.get_world_size()


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    trainings = {"nudged": [nudged], "unwrapped": [unwrapped], "sound": [accumulate, shard_by_hand, local_sgd]}
    for train in trainings[sys.argv[1]]:
        train(dist.get_rank())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
