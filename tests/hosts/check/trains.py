"""A training script without a fault, with a data loader that has workers."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(64, 8), torch.randint(3, (64,)))
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    loss_function = nn.CrossEntropyLoss()
    for epoch in range(2):
        for inputs, labels in DataLoader(data, batch_size=16, num_workers=1):
            loss = loss_function(model(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"epoch {epoch} loss {loss.item()!r}", flush=True)


if __name__ == "__main__":
    main()
