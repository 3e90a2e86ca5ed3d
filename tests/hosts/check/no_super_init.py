"""A module that does not initialise its base class."""

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self) -> None:
        self.layer = nn.Linear(8, 3)  # fails here

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.layer(inputs)


model = Classifier()
