"""A layer for another number of features than the one before it has."""

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(8, 16)
        self.output = nn.Linear(32, 3)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.hidden(inputs))
        return self.output(hidden)  # fails here


model = Classifier()
logits = model(torch.randn(4, 8))
