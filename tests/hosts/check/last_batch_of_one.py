"""Batch normalisation, and a last batch with a single sample."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.randn(17, 8), torch.randint(3, (17,)))
model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, labels in DataLoader(data, batch_size=4):
    loss = nn.functional.cross_entropy(model(inputs), labels)  # fails here
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
