"""Data parallel trainings, started by torchrun: two whose replicas diverge by mistake, and sound ones.

The first argument names the training:

nudged   rank 2 changes one element after step 3
unwrapped   the model inside DistributedDataParallel is called, which averages no gradients
forgotten   the program averages the gradients itself, except that of one parameter
alone   nothing averages the gradients, only the loss
divided   the same, with parameters that begin otherwise on each rank and data that a sampler divides among the ranks
sound   several trainings: gradient accumulation, sharding by hand, local SGD, gradients that the program averages
    itself, models of each rank's own, also in a program that sends nothing, and copies that see the same data
"""

import sys
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


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


def average_by_hand(rank: int, forgotten: int | None = None, seed: int = 0) -> None:
    model = make_model()
    torch.manual_seed(seed)
    nn.init.normal_(model[0].weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(1, 7):
        optimizer.zero_grad()
        loss_of(model, rank, step).backward()
        for number, parameter in enumerate(model.parameters()):
            if number != forgotten:
                dist.all_reduce(parameter.grad)
                parameter.grad /= dist.get_world_size()
        optimizer.step()


def alone(rank: int) -> None:
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(1, 13):
        optimizer.zero_grad()
        loss = loss_of(model, rank, step)
        loss.backward()
        optimizer.step()
        mean = loss.detach()
        dist.all_reduce(mean)
    # What comes behind the loop cannot make up for it.
    for parameter in model.parameters():
        dist.broadcast(parameter.data, 0)


def divided(rank: int) -> None:
    torch.manual_seed(rank)
    model = nn.Linear(8, 2)
    data = TensorDataset(torch.randn(64, 8), torch.randint(2, (64,)))
    sampler = DistributedSampler(data)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for images, labels in DataLoader(data, batch_size=4, sampler=sampler):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
            dist.barrier()


def forgotten(rank: int) -> None:
    average_by_hand(rank, forgotten=4)


def own_models(rank: int) -> None:
    """As with parts of a model: only some parameters are the same on all ranks."""
    average_by_hand(rank, forgotten=0, seed=rank)


def local_sgd_by_hand(rank: int) -> None:
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(1, 7):
        optimizer.zero_grad()
        loss = loss_of(model, rank, step)
        loss.backward()
        optimizer.step()
        dist.all_reduce(loss.detach())
        if step % 3 == 0:
            for parameter in model.parameters():
                dist.all_reduce(parameter.data)
                parameter.data /= dist.get_world_size()


def ensemble(rank: int) -> None:
    torch.manual_seed(rank)
    model = nn.Linear(8, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(1, 9):
        optimizer.zero_grad()
        loss_of(model, rank, step).backward()
        optimizer.step()
        dist.barrier()


def copies(rank: int) -> None:
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(1, 9):
        optimizer.zero_grad()
        loss_of(model, 0, step).backward()
        optimizer.step()
        dist.barrier()


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    sound = [accumulate, shard_by_hand, local_sgd, average_by_hand, own_models, local_sgd_by_hand, ensemble, copies]
    if sys.argv[1] == "sound":
        for train in sound:
            train(dist.get_rank())
    else:
        globals()[sys.argv[1]](dist.get_rank())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
