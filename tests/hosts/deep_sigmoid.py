"""Trains a deep network of sigmoids on the handwritten digits of scikit-learn.

An ordinary training script that learns nothing: after so many sigmoids, almost no
gradient reaches the first layers.
"""

import argparse

import torch
from sklearn.datasets import load_digits
from torch import nn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--freeze", action="store_true", help="do not train the last layer")
    arguments = parser.parse_args()

    torch.manual_seed(0)
    torch.set_num_threads(1)
    digits = load_digits()
    images = torch.tensor(digits.data, dtype=torch.float32) / 16
    labels = torch.tensor(digits.target)

    layers: list[nn.Module] = [nn.Linear(64, 32), nn.Sigmoid()]
    for _ in range(arguments.layers):
        layers += [nn.Linear(32, 32), nn.Sigmoid()]
    model = nn.Sequential(*layers, nn.Linear(32, 10))
    model[-1].requires_grad_(not arguments.freeze)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for step in range(1, arguments.steps + 1):
        batch = torch.randint(len(images), (64,))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        print(f"step {step:4d}  loss {loss.item():.9g}", flush=True)


if __name__ == "__main__":
    main()
