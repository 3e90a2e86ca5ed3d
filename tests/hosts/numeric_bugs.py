"""Three training steps of a model in which each module has another numeric bug."""

import torch
from torch import nn


class LogOfSoftmax(nn.Module):
    def forward(self, x):
        return (x * 300).softmax(-1).log()


class Division(nn.Module):
    def forward(self, x):
        return x / (x - x).clamp(min=0)


class GradientOfSqrt(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.zeros(4))

    def forward(self, x):
        return x[:, :4] * self.scale.sqrt()


class HalfOverflow(nn.Module):
    def forward(self, x):
        return (x.half() * 1e4) * 7


class InfinityInTheInput(nn.Module):
    def forward(self, x):
        broken = torch.where(x > 1, torch.tensor(float("inf")), x)
        return broken - broken.mean(-1, keepdim=True)


class LogOfLayerNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(32)

    def forward(self, x):
        return self.norm(x).log()


class PowerOfEmbedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 8, padding_idx=0)

    def forward(self, x):
        return self.table((x > 0).long()).pow(-1.5)


class TransposedProduct(nn.Module):
    def forward(self, x):
        return (x * 1e20).t() @ (x * 1e20)


class InPlaceDivision(nn.Module):
    def forward(self, x):
        y = x @ x.t()
        y.div_(torch.zeros(()))
        return y


class Dropped(nn.Module):
    """The values that dropout has left are saved, since it cannot be repeated."""

    def forward(self, x):
        return torch.dropout(x, 0.5, True).relu().log()


BUGS = {
    "log_softmax": LogOfSoftmax,
    "division": Division,
    "sqrt": GradientOfSqrt,
    "narrow": HalfOverflow,
    "input": InfinityInTheInput,
    "layer_norm": LogOfLayerNorm,
    "power": PowerOfEmbedding,
    "transposed": TransposedProduct,
    "in_place": InPlaceDivision,
    "dropout": Dropped,
}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        for name, bug in BUGS.items():
            setattr(self, name, bug())
        self.layer = nn.Linear(32, 4)

    def forward(self, x):
        for name in BUGS:
            if name != "sqrt":
                getattr(self, name)(x)
        return self.layer(x) + self.sqrt(x)


def main():
    torch.manual_seed(1)
    model = Model()
    # The square of this gradient overflows in Adam.
    optimizer = torch.optim.Adam(model.layer.parameters(), lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        loss = model(torch.randn(16, 32)).square().mean()
        loss.backward()
        for parameter in model.layer.parameters():
            parameter.grad.fill_(1e30)
        optimizer.step()
        print(f"step {step} loss {loss.item()}")


if __name__ == "__main__":
    main()
