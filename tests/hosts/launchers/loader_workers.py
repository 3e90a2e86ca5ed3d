"""Trains from a data loader whose workers run a module, which is no training."""

import sys

import torch
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __init__(self) -> None:
        self.augment = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())

    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.augment(torch.full((4,), float(index))).detach()


if __name__ == "__main__":
    torch.manual_seed(0)
    net = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for x in DataLoader(Noisy(), batch_size=4, num_workers=2, multiprocessing_context=sys.argv[1]):
        loss = net(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step loss {loss.item():.9g}", flush=True)
