"""Sound trainings that show symptoms of faulty ones. Argument: which one."""

import copy
import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
inputs = torch.randn(64, 8)
labels = (inputs.sum(1) > 0).long()
loader = DataLoader(TensorDataset(inputs, labels), batch_size=16, shuffle=True)


def mlp(size=2, **more):
    return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, size))


def gan():
    generator = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8))
    critic = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(), nn.Linear(16, 1))
    of_generator = torch.optim.Adam(generator.parameters(), 1e-3)
    of_critic = torch.optim.Adam(critic.parameters(), 1e-3)
    for x, _ in [*loader] * 3:
        of_critic.zero_grad()
        with torch.no_grad():
            fake = generator(torch.randn(16, 4))
        (F.softplus(critic(fake)).mean() + F.softplus(-critic(x)).mean()).backward()
        of_critic.step()
        of_generator.zero_grad()
        F.softplus(-critic(generator(torch.randn(16, 4)))).mean().backward()
        of_generator.step()


def warmup():
    model = mlp()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, step / 1000))
    for x, y in [*loader] * 3:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        schedule.step()


def accumulation():
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), 1e-2)
    for step, (x, y) in enumerate([*loader] * 8):
        (F.cross_entropy(model(x), y) / 4).backward()
        if step % 4 == 3:
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)


def lbfgs():
    model = nn.Linear(8, 2)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)

    def closure():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), labels)
        loss.backward()
        return loss

    for _ in range(5):
        optimizer.step(closure)


def full_batch():
    model = nn.Linear(8, 2)
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(8):
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), labels).backward()
        optimizer.step()


class LowRank(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down, self.up = nn.Linear(8, 2, bias=False), nn.Linear(2, 2, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


def low_rank():
    model = LowRank(nn.Linear(8, 2))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-3)
    for x, y in [*loader] * 3:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


def teacher():
    student = mlp()
    mean = copy.deepcopy(student).requires_grad_(False)
    optimizer = torch.optim.AdamW(student.parameters(), 1e-3)
    for x, y in [*loader] * 3:
        with torch.no_grad():
            target = mean(x)
        optimizer.zero_grad()
        (F.cross_entropy(student(x), y) + F.mse_loss(student(x), target)).backward()
        optimizer.step()
        for a, b in zip(mean.parameters(), student.parameters(), strict=True):
            a.lerp_(b.detach(), 0.1)


def averaging():
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), 1e-2)
    averaged = torch.optim.swa_utils.AveragedModel(model)
    for x, y in [*loader] * 3:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        averaged.update_parameters(model)
    torch.optim.swa_utils.update_bn(loader, averaged)


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(8, 2) for _ in range(6))
        self.turn = 0

    def forward(self, x):
        self.turn += 1
        return self.experts[self.turn % 6](x)


def experts():
    model = Experts()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for x, y in [*loader] * 3:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


def evaluation():
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    fixed = DataLoader(TensorDataset(inputs, labels), batch_size=16)
    for x, y in [*loader] * 3:
        model.train()
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            model(next(iter(fixed))[0])


def frozen_norm():
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    model.train()
    model[1].eval().requires_grad_(False)
    for x, y in [*loader] * 3:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


def by_hand():
    model = mlp()
    for x, y in [*loader] * 3:
        F.cross_entropy(model(x), y).backward()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= 0.01 * parameter.grad
                parameter.grad = None


def pairwise():
    model = nn.Linear(8, 1)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for x, y in [*loader] * 3:
        optimizer.zero_grad()
        scores = model(x).squeeze(1)
        margins = scores[:, None] - scores[None, :]
        F.softplus(-margins * (y[:, None] - y[None, :]).float()).mean().backward()
        optimizer.step()


def regression():
    model = nn.Linear(8, 1)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for x, y in [*loader] * 3:
        optimizer.zero_grad()
        (((model(x).squeeze(1) - y.float()) ** 2).mean() + F.mse_loss(model(x), y.float()[:, None])).backward()
        optimizer.step()


def perfect():
    model = nn.Linear(8, 2)
    optimizer = torch.optim.SGD(model.parameters(), 100)
    for _ in range(40):
        optimizer.zero_grad()
        F.multi_margin_loss(model(inputs), labels).backward()
        optimizer.step()


def autocast():
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for x, y in [*loader] * 3:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16), torch.autocast("cuda", enabled=False):
            loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()


globals()[sys.argv[1]]()
print("done")
