"""Uses a GPU that no machine has."""

import torch

device = torch.device("cuda", 63)
model = torch.nn.Linear(8, 3).to(device)  # fails here
