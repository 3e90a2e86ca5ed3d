"""A data loader that drops its only batch, because it is incomplete."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(50, 8), torch.randint(3, (50,)))
model = nn.Linear(8, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, labels in DataLoader(data, batch_size=64, drop_last=True):  # fails here
    loss = nn.functional.cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("done")
