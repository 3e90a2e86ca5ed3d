"""A small transformer whose attention scores, in float16, overflow in layer 2 from step 4 on."""

import torch
from torch import nn

WIDTH = 32


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.temperature = 1.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (self.qkv(x) * self.temperature).chunk(3, dim=-1)
        scores = torch.bmm(q, k.transpose(1, 2)).half()
        weights = torch.softmax(scores * 8, dim=-1)  # the overflow
        return x + self.out(torch.bmm(weights.float(), v))


def main() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(*(Layer() for _ in range(4)), nn.Linear(WIDTH, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for step in range(1, 9):
        if step == 4:
            model[2].temperature = 60.0
        x = torch.randn(2, 16, WIDTH)
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()


if __name__ == "__main__":
    main()
