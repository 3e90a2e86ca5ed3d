"""Attention scores in float16 without the scale overflow to infinity."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.query(x).half(), self.key(x).half(), self.value(x)
        scores = q @ k.transpose(1, 2)  # first bad value
        mask = torch.triu(torch.full(scores.shape[1:], float("-inf")), diagonal=1)
        return torch.softmax(scores.float() + mask, dim=-1) @ v


torch.manual_seed(0)
model = Attention(32)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(5):
    x = torch.randn(2, 6, 32) * (3.0 if step < 3 else 400.0)
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
