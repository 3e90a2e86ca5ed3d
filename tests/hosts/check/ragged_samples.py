"""A data set whose samples differ in length."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Sentences(Dataset):
    def __len__(self) -> int:
        return 32

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.arange(4 + index % 3)


model = nn.Embedding(10, 4)
for batch in DataLoader(Sentences(), batch_size=8):  # fails here
    model(batch)
