"""Trains a small U-Net to remove noise from the digits; from step 3 on, one activation overflows in float16.

The decoder concatenates each of its levels with that of the encoder. The middle block
computes in float16, and its values grow with the scale that the schedule sets.
"""

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(2, inputs)
        self.conv = nn.Conv2d(inputs, outputs, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(F.silu(self.norm(x)))


class Middle(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.block = Block(width, width)
        self.scale = 1.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scaled = self.block(x).half() * self.scale
        return x + (scaled * scaled).float() * 1e-6  # first bad value


class UNet(nn.Module):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, width, 3, padding=1)
        self.down = nn.ModuleList([Block(width, width * 2), Block(width * 2, width * 4)])
        self.middle = Middle(width * 4)
        self.up = nn.ModuleList([Block(width * 6, width * 2), Block(width * 3, width)])
        self.head = nn.Conv2d(width, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        skips = []
        for block in self.down:
            skips.append(x)
            x = F.avg_pool2d(block(x), 2)
        x = self.middle(x)
        for block, skip in zip(self.up, reversed(skips), strict=True):
            x = block(torch.cat([F.interpolate(x, scale_factor=2), skip], dim=1))
        return self.head(x)


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    images = torch.tensor(load_digits().images, dtype=torch.float32).unsqueeze(1) / 16
    model = UNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(1, 21):
        model.middle.scale = 1.0 if step < 3 else 4000.0
        clean = images[torch.randint(len(images), (16,))]
        optimizer.zero_grad()
        loss = F.mse_loss(model(clean + 0.3 * torch.randn_like(clean)), clean)
        loss.backward()
        optimizer.step()
        print(f"step {step:4d}  loss {loss.item():.9g}", flush=True)


if __name__ == "__main__":
    main()
