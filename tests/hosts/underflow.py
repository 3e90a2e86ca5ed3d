"""Trains with dropout; in the third step a softmax underflows, so that its logarithm is infinite.

Writes the loss of each step, as its bits, to the file that it is given.
"""

import sys

import torch
from torch import nn


def main(path: str) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.5), nn.Linear(16, 64))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    with open(path, "w") as losses:
        for step in range(1, 7):
            inputs = torch.randn(4, 8) * (200 if step == 3 else 1)
            probabilities = torch.softmax(model(inputs), -1)
            loss = -torch.log(probabilities).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.write(f"{loss.item().hex()} {model[2].bias.detach().sum().item().hex()}\n")
            losses.flush()


main(sys.argv[1])
