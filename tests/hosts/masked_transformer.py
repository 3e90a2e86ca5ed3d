"""A causal transformer without bugs, whose masks contain infinities."""

import torch
from torch import nn

torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(d_model=32, nhead=4, dim_feedforward=64, dropout=0.0, batch_first=True)
model = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
head = nn.Linear(32, 5)
optimizer = torch.optim.AdamW([*model.parameters(), *head.parameters()], lr=1e-3)
for step in range(6):
    x = torch.randn(3, 7, 32)
    mask = nn.Transformer.generate_square_subsequent_mask(7)
    logits = head(model(x, mask=mask, is_causal=False))
    scores = logits.masked_fill(torch.rand(3, 7, 5) > 0.9, float("-inf"))
    loss = -torch.softmax(scores, dim=-1)[..., 0].mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.9g}")
