"""A model whose layers are in a list, so that it has no parameters."""

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = [nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)]

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            inputs = layer(inputs)
        return inputs


model = Classifier()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # fails here
