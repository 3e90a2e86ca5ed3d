"""Training scripts that several tests share."""

CNN = """
import sys

import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.bn = nn.BatchNorm2d(4)
        self.relu = nn.ReLU()
        self.fc = nn.Linear(144, 3)

    def forward(self, x):
        x = self.relu(self.bn(self.conv(x)))  # conv
        return self.fc(x.flatten(1))  # fc


model = Net()
optimizer = getattr(torch.optim, sys.argv[1])(model.parameters(), lr=0.05)
criterion = nn.CrossEntropyLoss()
for _ in range(4):
    x, y = torch.randn(4, 1, 8, 8), torch.randint(3, (4,))
    optimizer.zero_grad(set_to_none=True)
    loss = criterion(model(x), y)  # loss
    loss.backward()  # backward
    optimizer.step()  # step
    print(loss.item().hex())
"""
