"""fp16 with a GradScaler on a GPU: an activation overflows in the last forward pass."""

import torch
from torch import nn

torch.manual_seed(0)


class Large(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(64, 64)

    def forward(self, x: torch.Tensor, factor: float) -> torch.Tensor:
        y = self.linear(x)
        return y * factor * factor  # first bad value


model = Large().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")
for step in range(3):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        y = model(torch.randn(32, 64, device="cuda"), 1e4 if step == 2 else 0.5)
        loss = y.float().square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    print(f"step {step} loss {loss.item():.6f}")
