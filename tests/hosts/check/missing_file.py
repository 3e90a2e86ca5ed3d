"""Reads a data file that does not exist."""

import torch

model = torch.nn.Linear(8, 3)
inputs, labels = torch.load("digits-of-2019.pt")  # fails here
