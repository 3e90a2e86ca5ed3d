"""An embedding for fewer words than the data has."""

import torch
from torch import nn

model = nn.Sequential(nn.Embedding(100, 16), nn.Linear(16, 3))
words = torch.arange(96, 104)
logits = model(words)  # fails here
