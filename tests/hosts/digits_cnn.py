"""Trains a small CNN on the handwritten digits that ship with scikit-learn.

An ordinary training script. Its loss computes the logarithm of a softmax directly,
which works until the differences between the logits are too large.
"""

import argparse

import torch
from sklearn.datasets import load_digits
from torch import nn


class DigitsNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, kernel_size=3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, kernel_size=3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.fc1 = nn.Linear(32 * 4 * 4, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.conv1(images))
        x = self.pool(torch.relu(self.conv2(x)))
        x = torch.relu(self.fc1(x.flatten(1)))
        return self.fc2(x)


def cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    probabilities = torch.softmax(logits, dim=1)
    log_probabilities = torch.log(probabilities)
    return -log_probabilities[torch.arange(len(labels)), labels].mean()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=0.07)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    torch.manual_seed(arguments.seed)
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1)
    labels = torch.tensor(digits.target)

    model = DigitsNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=arguments.lr, momentum=0.9)

    for step in range(1, arguments.steps + 1):
        batch = torch.randint(len(images), (arguments.batch_size,))
        optimizer.zero_grad()
        loss = cross_entropy(model(images[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        print(f"step {step:4d}  loss {loss.item():.9g}", flush=True)


if __name__ == "__main__":
    main()
