"""Small, untrained versions of well-known models, each with data, a loss and an optimizer.

Run as a program by test_training_steps.py: trains every model for some steps, as it is
or under the mode of seen_ops.py, and marks each step.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from dataclasses import dataclass

import torch
from compared_ops import mark
from seen_ops import SeenOps
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import Optimizer

STEPS = 2


@dataclass
class Training:
    """A model in training: `step` runs the forward pass, the backward pass and the optimizer."""

    step: Callable[[], None]


def supervised(model: nn.Module, loss: Callable[[], Tensor], optimizer: Optimizer) -> Training:
    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    model.train()
    return Training(step)


def classes(count: int, *shape: int) -> Tensor:
    return torch.randint(count, shape)


def mlp() -> Training:
    model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.SiLU(), nn.Dropout(0.1), nn.Linear(16, 3))
    x, y = torch.randn(12, 8), classes(3, 12)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    return supervised(model, lambda: F.cross_entropy(model(x), y), optimizer)


def lenet() -> Training:
    features = nn.Sequential(nn.Conv2d(1, 6, 5), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh())
    model = nn.Sequential(features, nn.AvgPool2d(2), nn.Flatten(), nn.Linear(256, 32), nn.Tanh(), nn.Linear(32, 10))
    x, y = torch.randn(4, 1, 28, 28), classes(10, 4)
    return supervised(
        model, lambda: F.cross_entropy(model(x), y), torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)
    )


class ResidualBlock(nn.Module):  # type: ignore[misc]
    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside))
        self.second = nn.Sequential(nn.Conv2d(outside, outside, 3, 1, 1, bias=False), nn.BatchNorm2d(outside))
        self.shortcut = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.second(self.relu(self.first(x)))
        out += self.shortcut(x)
        return self.relu(out)


def resnet() -> Training:
    blocks = nn.Sequential(ResidualBlock(4, 8, 2), ResidualBlock(8, 8, 1))
    model = nn.Sequential(nn.Conv2d(3, 4, 7, 2, 3), nn.MaxPool2d(3, 2, 1), blocks, nn.AdaptiveAvgPool2d(1))
    model.extend([nn.Flatten(), nn.Linear(8, 5)])
    x, y = torch.randn(2, 3, 32, 32), classes(5, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, foreach=True)
    return supervised(model, lambda: F.cross_entropy(model(x), y, label_smoothing=0.1), optimizer)


def mobilenet() -> Training:
    def block(inside: int, outside: int) -> nn.Module:
        depthwise = nn.Conv2d(inside, inside, 3, padding=1, groups=inside, bias=False)
        layers = (depthwise, nn.BatchNorm2d(inside), nn.ReLU6(), nn.Conv2d(inside, outside, 1), nn.Hardswish())
        return nn.Sequential(*layers)

    model = nn.Sequential(block(3, 8), block(8, 8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))
    x, y = torch.randn(2, 3, 12, 12).to(memory_format=torch.channels_last), classes(4, 2)
    return supervised(model, lambda: F.cross_entropy(model(x), y), torch.optim.RMSprop(model.parameters(), lr=1e-3))


class UNet(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.SiLU())
        self.middle = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(4, 8, 3, padding=1), nn.GroupNorm(4, 8), nn.Mish())
        self.up = nn.ConvTranspose2d(8, 4, 2, 2)
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        skip = self.down(x)
        up = self.up(self.middle(skip)) + F.interpolate(skip[:, :, ::2, ::2], scale_factor=2, mode="bilinear")
        return self.out(torch.cat([skip, up], dim=1))


def unet() -> Training:
    model = UNet()
    x, y = torch.randn(2, 1, 8, 8), torch.rand(2, 1, 8, 8).round()
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    return supervised(model, lambda: F.binary_cross_entropy_with_logits(model(x), y), optimizer)


class Recurrent(nn.Module):  # type: ignore[misc]
    def __init__(self, kind: type[nn.LSTM] | type[nn.GRU]) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 6)
        self.rnn = kind(6, 8, num_layers=2, dropout=0.1, bidirectional=True, batch_first=True)
        self.head = nn.Linear(16, 20)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.rnn(self.embedding(x))[0])


def recurrent(kind: type[nn.LSTM] | type[nn.GRU], optimizer: Callable[..., Optimizer]) -> Training:
    model = Recurrent(kind)
    x = classes(20, 3, 7)

    def loss() -> Tensor:
        return F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())

    return supervised(model, loss, optimizer(model.parameters()))


def lstm() -> Training:
    return recurrent(nn.LSTM, torch.optim.Adagrad)


def gru() -> Training:
    return recurrent(nn.GRU, torch.optim.NAdam)


def encoder() -> Training:
    layer = nn.TransformerEncoderLayer(8, 2, 16, 0.1, activation="gelu", batch_first=True, norm_first=True)
    model = nn.Sequential(nn.Embedding(20, 8), nn.TransformerEncoder(layer, 2, enable_nested_tensor=False))
    model.append(nn.Linear(8, 20))
    x, y = classes(20, 3, 6), classes(20, 3, 6).where(torch.rand(3, 6) < 0.5, -100)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    return supervised(model, lambda: F.cross_entropy(model(x).transpose(1, 2), y), optimizer)


def encoder_decoder() -> Training:
    model = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    x, y = torch.randn(2, 5, 8), torch.randn(2, 4, 8)
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    optimizer = torch.optim.RAdam(model.parameters())

    def loss() -> Tensor:
        return F.smooth_l1_loss(model(x, y, tgt_mask=mask), y)

    return supervised(model, loss, optimizer)


class CausalBlock(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        parts = self.qkv(self.norms[0](x)).chunk(3, dim=-1)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(-2))
        return x + self.mlp(self.norms[1](x))


class GPT(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(20, 8), nn.Embedding(6, 8)
        self.blocks = nn.Sequential(CausalBlock(8, 2), CausalBlock(8, 2), nn.LayerNorm(8))

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.token(x) + self.position(torch.arange(x.shape[1]))
        # The weights of the embedding are those of the last layer.
        return F.linear(self.blocks(hidden), self.token.weight)


def gpt() -> Training:
    model = GPT()
    x = classes(20, 2, 7)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)

    def step() -> None:
        # Accumulates the gradients of two parts of the batch.
        for part in x.split(1):
            loss = F.cross_entropy(model(part[:, :-1]).transpose(1, 2), part[:, 1:]) / 2
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return Training(step)


class ViT(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 8, 4, 4)
        self.token = nn.Parameter(torch.zeros(1, 1, 8))
        self.position = nn.Parameter(torch.randn(1, 17, 8) * 0.02)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm, self.head = nn.LayerNorm(8), nn.Linear(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        patches = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), patches], dim=1) + self.position
        x = x + self.attention(self.norm(x), self.norm(x), self.norm(x), need_weights=False)[0]
        return self.head(x[:, 0])


def vit() -> Training:
    model = ViT()
    x, y = torch.randn(2, 3, 16, 16), classes(5, 2)
    return supervised(model, lambda: F.cross_entropy(model(x), y), torch.optim.Adamax(model.parameters()))


class VAE(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(12, 8), nn.ELU(), nn.Linear(8, 6))
        self.decode = nn.Sequential(nn.Linear(3, 8), nn.Softplus(), nn.Linear(8, 12), nn.Sigmoid())

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, log_variance = self.encode(x).chunk(2, dim=1)
        sample = mean + torch.randn_like(mean) * (log_variance / 2).exp()
        return self.decode(sample), mean, log_variance


def vae() -> Training:
    model = VAE()
    x = torch.rand(5, 12)

    def loss() -> Tensor:
        restored, mean, log_variance = model(x)
        divergence = -0.5 * (1 + log_variance - mean.pow(2) - log_variance.exp()).sum()
        return F.mse_loss(restored, x, reduction="sum") + divergence

    return supervised(model, loss, torch.optim.Adam(model.parameters(), amsgrad=True, foreach=True))


def gan() -> Training:
    generator = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 6), nn.Tanh())
    critic = nn.Sequential(nn.Linear(6, 8), nn.LeakyReLU(0.2), nn.utils.parametrizations.spectral_norm(nn.Linear(8, 1)))
    by_generator = torch.optim.Adam(generator.parameters(), betas=(0.5, 0.999))
    by_critic = torch.optim.Adam(critic.parameters(), betas=(0.5, 0.999))
    real = torch.randn(5, 6)

    def step() -> None:
        fake = generator(torch.randn(5, 4))
        by_critic.zero_grad()
        (F.softplus(-critic(real)) + F.softplus(critic(fake.detach()))).mean().backward()
        by_critic.step()
        by_generator.zero_grad()
        F.softplus(-critic(fake)).mean().backward()
        by_generator.step()

    return Training(step)


def autoencoder() -> Training:
    encode = nn.Sequential(nn.Conv1d(1, 4, 3, 2, 1), nn.InstanceNorm1d(4), nn.PReLU())
    model = nn.Sequential(encode, nn.ConvTranspose1d(4, 1, 4, 2, 1))
    x = torch.randn(3, 1, 16)
    return supervised(model, lambda: F.l1_loss(model(x), x), torch.optim.Adadelta(model.parameters()))


class Recommender(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.users, self.items = nn.EmbeddingBag(30, 6, mode="mean"), nn.EmbeddingBag(30, 6, mode="sum", sparse=True)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, users: Tensor, items: Tensor) -> Tensor:
        return (self.users(users) * self.items(items)).sum(dim=1) + self.bias


def recommender() -> Training:
    model = Recommender()
    users, items, y = classes(30, 4, 3), classes(30, 4, 2), torch.rand(4)
    return supervised(model, lambda: F.huber_loss(model(users, items), y), torch.optim.SGD(model.parameters(), lr=0.1))


class GraphConvolution(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(5, 8), nn.Linear(8, 3)])

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        source, target = edges
        for layer in self.layers:
            sums = torch.zeros_like(x).index_add(0, target, x[source])
            degree = torch.zeros(len(x)).scatter_add(0, target, torch.ones(len(target)))
            x = F.elu(layer(x + sums / degree.clamp(min=1).unsqueeze(1)))
        return x.log_softmax(dim=1)


def graph_convolution() -> Training:
    model = GraphConvolution()
    x, edges, y = torch.randn(9, 5), classes(9, 2, 20), classes(3, 9)
    optimizer = torch.optim.Rprop(model.parameters())
    return supervised(model, lambda: F.nll_loss(model(x, edges), y), optimizer)


MODELS: dict[str, Callable[[], Training]] = {
    made.__name__: made
    for made in (
        *(mlp, lenet, resnet, mobilenet, unet, lstm, gru, encoder, encoder_decoder, gpt, vit, vae, gan),
        *(autoencoder, recommender, graph_convolution),
    )
}


def untrainable(lower: str) -> list[str]:
    """The models that PyTorch cannot train in this type on this processor."""
    names = []
    for name, make in MODELS.items():
        try:
            with torch.autocast("cpu", getattr(torch, lower)):
                make().step()
        except RuntimeError:
            names.append(name)
    return names


def main() -> None:
    """Arguments: a type for autocast (or ""), where to log ops (or ""), models."""
    lower, seen, *models = sys.argv[1:]
    with contextlib.ExitStack() as stack:
        if seen:
            stack.enter_context(SeenOps(stack.enter_context(open(seen, "w"))))
        if lower:
            stack.enter_context(torch.autocast("cpu", getattr(torch, lower)))
        # The agent follows the program from the first call of a model.
        nn.Linear(1, 1)(torch.ones(1))
        for index, name in enumerate(models):
            torch.manual_seed(index)
            training = MODELS[name]()
            for step in range(STEPS):
                mark(index * STEPS + step, end=False)
                training.step()
                mark(index * STEPS + step, end=True)


if __name__ == "__main__":
    main()
