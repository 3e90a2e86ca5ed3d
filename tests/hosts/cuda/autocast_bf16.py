"""A small model in bf16 on a GPU; in the last step one op divides by a norm of zero."""

import torch
from torch import nn

torch.manual_seed(0)


class Normalised(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(256, 256)

    def forward(self, x: torch.Tensor, removed: float) -> torch.Tensor:
        y = self.linear(x).relu() + 1
        return y / (y - removed * y).norm(dim=-1, keepdim=True)  # first bad value


model = Normalised().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        y = model(torch.randn(64, 256, device="cuda"), 1.0 if step == 2 else 0.5)
        loss = y.float().square().mean()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.6f}")
