"""A data set that fails in a worker process, at one sample."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

LABELS = {"cat": 0, "dog": 1}


class Pictures(Dataset):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.ones(4), LABELS["cat" if index < 3 else "bird"]  # fails here


def main() -> None:
    model = nn.Linear(4, 2)
    for inputs, _ in DataLoader(Pictures(), batch_size=4, num_workers=1):
        model(inputs)


if __name__ == "__main__":
    main()
