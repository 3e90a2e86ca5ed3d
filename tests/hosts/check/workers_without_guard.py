"""Starts worker processes outside a main guard, on a platform that spawns them."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(16, 4))
model = nn.Linear(4, 2)
for (inputs,) in DataLoader(data, batch_size=4, num_workers=1, multiprocessing_context="spawn"):  # fails here
    model(inputs)
