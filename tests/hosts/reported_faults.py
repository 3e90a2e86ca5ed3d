"""Trainings that do not learn, modelled on mistakes that users of PyTorch have reported. Argument: the fault."""

import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset, TensorDataset

torch.manual_seed(1)
inputs = torch.randn(64, 8)
labels = (inputs.sum(1) > 0).long()
loader = DataLoader(TensorDataset(inputs, labels), batch_size=16, shuffle=True)


def fit(model, loss_of=F.cross_entropy, optimizer=None, batches=(*loader,) * 3, schedule=None, evaluate=False):
    optimizer = optimizer or torch.optim.Adam(model.parameters(), 1e-3)
    for x, y in batches:
        optimizer.zero_grad()
        loss_of(model(x), y).backward()
        optimizer.step()
        if schedule:
            schedule.step()
        if evaluate:
            model.eval()
            with torch.no_grad():
                model(x)
            model.train()


def smoothed_away():
    """The smoothing was taken for the share of the label."""
    fit(nn.Linear(8, 2), lambda out, y: F.cross_entropy(out, y, label_smoothing=1.0))


def softmax_over_the_batch():
    fit(nn.Sequential(nn.Linear(8, 2), nn.LogSoftmax(dim=0)), F.nll_loss)


class DropoutInForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.head = nn.Linear(8, 16), nn.Linear(16, 2)

    def forward(self, x):
        return self.head(nn.Dropout(0.5)(F.relu(self.first(x))))


def dropout_in_forward():
    fit(DropoutInForward(), evaluate=True)


class DropoutsInList(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 2)
        self.dropouts = [nn.Dropout(0.1 * (place + 1)) for place in range(5)]

    def forward(self, x):
        return sum(self.head(dropout(x)) for dropout in self.dropouts) / 5


def dropouts_in_list():
    fit(DropoutsInList(), evaluate=True)


class WeightsInList(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = [nn.Parameter(0.1 * torch.randn(8, 8)) for _ in range(2)]
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        for weight in self.weights:
            x = F.relu(x @ weight)
        return self.head(x)


def weights_in_list():
    fit(WeightsInList())


class WeightsInDict(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = {"key": nn.Parameter(0.1 * torch.randn(8, 8))}
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(x @ self.tables["key"])


def weights_in_dict():
    fit(WeightsInDict())


class NewParameter(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 2)
        self.scale = nn.Parameter(torch.ones(8))

    def forward(self, x):
        self.scale = nn.Parameter(self.scale / self.scale.norm())
        return self.head(x * self.scale)


def new_parameter_in_each_call():
    fit(NewParameter())


def autocast_not_entered():
    model = nn.Linear(8, 2)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for x, y in (*loader,) * 2:
        optimizer.zero_grad()
        torch.autocast("cpu", dtype=torch.bfloat16)
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


class Masked(nn.Module):
    """The mask is inverted, so that all positions are masked."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.head = (nn.Linear(2, 2) for _ in range(4))

    def forward(self, x):
        x = x.unflatten(1, (4, 2))
        mask = torch.zeros(4, 4, dtype=torch.bool)
        scores = self.query(x) @ self.key(x).mT
        weights = scores.masked_fill(~mask, -1e9).softmax(-1)
        return self.head((weights @ self.value(x)).mean(1))


def everything_masked():
    fit(Masked())


def divided_integers():
    """Images of bytes are divided by 255 as integers."""
    images = torch.randint(0, 255, (64, 8), dtype=torch.uint8)
    data = DataLoader(TensorDataset(torch.div(images, 255, rounding_mode="floor").float(), labels), batch_size=16)
    fit(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2)), batches=(*data,) * 3)


def sampled_by_normal():
    """torch.normal passes no gradient to the mean, unlike mean + noise."""

    class Sampling(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = nn.Linear(8, 4), nn.Linear(4, 2)

        def forward(self, x):
            mean = self.encoder(x)
            return self.decoder(torch.normal(mean, torch.ones_like(mean)))

    fit(Sampling())


def generator_without_gradient():
    """The same detached samples train both."""
    generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8))
    critic = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(), nn.Linear(16, 1))
    of_generator, of_critic = (torch.optim.Adam(each.parameters(), 1e-3) for each in (generator, critic))
    for x, _ in (*loader,) * 3:
        fake = generator(torch.randn(16, 4)).detach()
        of_critic.zero_grad()
        (F.softplus(critic(fake)).mean() + F.softplus(-critic(x)).mean()).backward()
        of_critic.step()
        of_generator.zero_grad()
        F.softplus(-critic(fake)).mean().backward()
        of_generator.step()


def warm_up_of_integers():
    model = nn.Linear(8, 2)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) // 1000))
    fit(model, optimizer=optimizer, schedule=schedule)


class Checkpointed(nn.Module):
    """Reentrant checkpoints have no gradient if no input requires one."""

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Sequential(nn.Linear(8, 16), nn.ReLU()), nn.Linear(16, 2)

    def forward(self, x):
        return self.head(checkpoint(self.body, x, use_reentrant=True))


def checkpointed():
    fit(Checkpointed())


def step_before_backward():
    model = nn.Linear(8, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for x, y in (*loader,) * 3:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        optimizer.step()
        loss.backward()


class Scored(nn.Module):
    """Normalizes each score by itself."""

    def __init__(self):
        super().__init__()
        self.score, self.norm = nn.Linear(8, 1), nn.LayerNorm(1)

    def forward(self, x):
        return self.norm(self.score(x)).squeeze(1)


def norm_of_one():
    fit(Scored(), lambda out, y: F.binary_cross_entropy_with_logits(out, y.float()))


class FirstOnly(Dataset):
    """Ignores the index."""

    def __len__(self):
        return 64

    def __getitem__(self, index):
        return inputs[0], labels[0]


def index_ignored():
    fit(nn.Linear(8, 2), batches=DataLoader(FirstOnly(), batch_size=8))


def losses_rebuilt():
    """The mean of losses is made a new tensor."""
    model = nn.Linear(8, 2)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for x, y in (*loader,) * 2:
        optimizer.zero_grad()
        losses = [F.cross_entropy(model(part), label) for part, label in zip(x.split(8), y.split(8), strict=True)]
        torch.tensor(losses, requires_grad=True).mean().backward()
        optimizer.step()


def argmax_inside():
    class Discrete(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.codes, self.head = nn.Linear(8, 4), nn.Embedding(4, 8), nn.Linear(8, 2)

        def forward(self, x):
            return self.head(self.codes(self.encoder(x).argmax(1)))

    fit(Discrete())


def saturated_inputs():
    """Inputs that are not scaled saturate the sigmoid, whose gradient is then zero."""
    model = nn.Sequential(nn.Linear(8, 16), nn.Sigmoid(), nn.Linear(16, 2))
    fit(model, batches=[(1e6 * x, y) for x, y in (*loader,) * 3])


def replaced_by_a_copy():
    import copy

    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    fit(copy.deepcopy(model), optimizer=optimizer)


globals()[sys.argv[1]]()
print("done")
