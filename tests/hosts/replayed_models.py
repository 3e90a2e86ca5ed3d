"""Trains many kinds of models and optimizers for two steps each; those that are named, or all.

Prints a line for each: its name, the number of its last step, and a digest of its weights and buffers.
"""

import hashlib
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

CLASSES = 5


def images():
    return torch.randn(4, 3, 16, 16), torch.randint(CLASSES, (4,))


def vectors():
    return torch.randn(8, 16), torch.randint(CLASSES, (8,))


def tokens():
    return torch.randint(20, (4, 12)), torch.randint(CLASSES, (4,))


def convolutions(*more):
    return nn.Sequential(
        *(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2)),
        *(*more, nn.Conv2d(8, 8, 3), nn.GroupNorm(2, 8), nn.LeakyReLU(0.1, inplace=True)),
        *(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(0.3), nn.Linear(32, CLASSES)),
    )


def layers(activation=nn.ReLU, **arguments):
    return nn.Sequential(
        nn.Linear(16, 32), nn.LayerNorm(32), activation(**arguments), nn.Dropout(0.2), nn.Linear(32, CLASSES)
    )


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.table = nn.Embedding(20, 12)
        self.cells = kind(12, 10, num_layers=2, dropout=0.2, batch_first=True)
        self.head = nn.Linear(10, CLASSES)

    def forward(self, x):
        return self.head(self.cells(self.table(x))[0][:, -1])


class Attention(nn.Module):
    def __init__(self, sparse=False):
        super().__init__()
        self.table = nn.Embedding(20, 16, sparse=sparse)
        self.layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=True, norm_first=True)
        self.head = nn.Linear(16, CLASSES)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        return self.head(self.layer(self.table(x), src_mask=mask).mean(1))


class TiedWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(20, 16)
        self.hidden = nn.Linear(16, 16)
        self.head = nn.Linear(16, 20, bias=False)
        self.head.weight = self.table.weight

    def forward(self, x):
        return self.head(self.hidden(self.table(x)).tanh()).mean(1)[:, :CLASSES]


class Checkpointed(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        self.first = nn.Linear(16, 16)
        self.body = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Dropout(0.5), nn.Linear(32, 16))
        self.head = nn.Linear(16, CLASSES)
        self.reentrant = reentrant

    def forward(self, x):
        return self.head(checkpoint(self.body, self.first(x), use_reentrant=self.reentrant))


class InPlaceState(nn.Module):
    """Writes into parts of a buffer, and into an uninitialized one."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(2, 16))
        self.body = layers()

    def forward(self, x):
        with torch.no_grad():
            self.seen[0].mul_(0.9).add_(x.mean(0), alpha=0.1)
            self.seen[1] += x.var(0)
        scratch = torch.empty_like(x)
        scratch[:, ::2] = x[:, ::2] - self.seen[0, ::2]
        scratch[:, 1::2] = 1.0
        scratch.mul_(2).clamp_(-3, 3)
        return self.body(scratch)


class SpectralWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.utils.parametrizations.spectral_norm(nn.Linear(16, 16))
        self.head = nn.utils.parametrizations.weight_norm(nn.Linear(16, CLASSES))

    def forward(self, x):
        return self.head(self.first(x).relu_())


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 2 * x * gradient


class OwnFunction(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(16, 8)
        self.head = nn.Linear(8, CLASSES)

    def forward(self, x):
        return self.head(Square.apply(self.first(x)))


class Autoencoder(nn.Module):
    """With noise that is drawn in the model, and a mask."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(16, 8)
        self.decoder = nn.Linear(4, CLASSES)

    def forward(self, x):
        mean, log_variance = self.encoder(x.masked_fill(torch.rand_like(x) < 0.1, 0)).chunk(2, -1)
        return self.decoder(mean + torch.randn_like(mean) * (log_variance / 2).exp())


def adamw(parameters, **arguments):
    return torch.optim.AdamW(parameters, lr=1e-3, **arguments)


def sgd(parameters, **arguments):
    return torch.optim.SGD(parameters, lr=1e-2, **arguments)


# By name: the model, its batches, and its optimizer.
MODELS = {
    "convolutions": (convolutions, images, adamw),
    "convolutions_sgd": (convolutions, images, sgd),
    "channels_last": (lambda: convolutions().to(memory_format=torch.channels_last), images, adamw),
    "dropout2d": (lambda: convolutions(nn.Dropout2d(0.3)), images, adamw),
    "momentum": (convolutions, images, lambda p: sgd(p, momentum=0.9, nesterov=True)),
    "loop": (layers, vectors, lambda p: adamw(p, foreach=False)),
    "foreach": (layers, vectors, lambda p: adamw(p, foreach=True, amsgrad=True)),
    "fused": (layers, vectors, lambda p: adamw(p, fused=True)),
    "fused_sgd": (layers, vectors, lambda p: sgd(p, fused=True, momentum=0.9)),
    "momentum_loop": (layers, vectors, lambda p: sgd(p, momentum=0.9, foreach=False, weight_decay=0.01)),
    "adam": (lambda: layers(nn.SiLU), vectors, lambda p: torch.optim.Adam(p, foreach=False)),
    "rmsprop": (lambda: layers(nn.SELU, inplace=True), vectors, torch.optim.RMSprop),
    "adagrad": (lambda: layers(nn.GELU), vectors, torch.optim.Adagrad),
    "adadelta": (lambda: layers(nn.ELU, inplace=True), vectors, torch.optim.Adadelta),
    "nadam": (lambda: layers(nn.Mish, inplace=True), vectors, torch.optim.NAdam),
    "rprop": (lambda: layers(nn.RReLU, inplace=True), vectors, torch.optim.Rprop),
    "lstm": (lambda: Recurrent(nn.LSTM), tokens, adamw),
    "gru": (lambda: Recurrent(nn.GRU), tokens, adamw),
    "rnn": (lambda: Recurrent(nn.RNN), tokens, sgd),
    "attention": (Attention, tokens, adamw),
    "sparse": (lambda: Attention(sparse=True), tokens, sgd),
    "tied": (TiedWeights, tokens, adamw),
    "checkpoint": (lambda: Checkpointed(False), vectors, adamw),
    "checkpoint_reentrant": (lambda: Checkpointed(True), vectors, adamw),
    "in_place": (InPlaceState, vectors, adamw),
    "parametrized": (SpectralWeights, vectors, adamw),
    "function": (OwnFunction, vectors, sgd),
    "noise": (Autoencoder, vectors, adamw),
    "accumulated": (layers, vectors, adamw),
    "clipped": (convolutions, images, adamw),
    "autocast": (layers, vectors, adamw),
    "scaled": (layers, vectors, adamw),
    "kept_gradients": (layers, vectors, adamw),
    "double": (lambda: layers().double(), lambda: (vectors()[0].double(), vectors()[1]), adamw),
    "bfloat16": (lambda: layers().bfloat16(), lambda: (vectors()[0].bfloat16(), vectors()[1]), adamw),
    "seeded": (layers, vectors, adamw),
}


def train(name):
    make, batch, optimize = MODELS[name]
    torch.manual_seed(1)
    model = make()
    optimizer = optimize(model.parameters())
    scaler = torch.amp.GradScaler("cpu", enabled=name == "scaled")
    for _ in range(2):
        for _ in range(3 if name == "accumulated" else 1):
            inputs, targets = batch()
            if name == "seeded":
                torch.manual_seed(7)
            with torch.autocast("cpu", torch.bfloat16, enabled=name in ("autocast", "scaled")):
                loss = F.cross_entropy(model(inputs), targets, label_smoothing=0.1)
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        if name == "clipped":
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=name != "kept_gradients")
    digest = hashlib.sha256()
    for value in model.state_dict().values():
        digest.update(value.detach().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


for number, name in enumerate(sys.argv[1:] or MODELS, 1):
    print(name, 2 * number, train(name), flush=True)
