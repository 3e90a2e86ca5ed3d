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


def gan_accumulation():
    generator = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8))
    critic = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(), nn.Linear(16, 1))
    of_generator = torch.optim.Adam(generator.parameters(), 1e-3)
    of_critic = torch.optim.Adam(critic.parameters(), 1e-3)
    for _ in range(5):
        of_critic.zero_grad()
        for x, _ in loader:
            fake = generator(torch.randn(16, 4)).detach()
            (F.softplus(critic(fake)).mean() + F.softplus(-critic(x)).mean()).backward()
        of_critic.step()
        of_generator.zero_grad()
        for _ in range(4):
            F.softplus(-critic(generator(torch.randn(16, 4)))).mean().backward()
        of_generator.step()


def siamese():
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for x, y in [*loader] * 3:
        optimizer.zero_grad()
        views = [model(x + 0.1 * torch.randn_like(x)) for _ in range(4)]
        sum(F.mse_loss(view, views[0]) + F.cross_entropy(view, y) for view in views).backward()
        optimizer.step()


def zero_head():
    model = mlp()
    nn.init.zeros_(model[4].weight)
    nn.init.zeros_(model[4].bias)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for step, (x, y) in enumerate([*loader] * 6):
        (F.cross_entropy(model(x), y) / 6).backward()
        if step % 6 == 5:
            optimizer.step()
            optimizer.zero_grad()


def unfreezing():
    model = mlp()
    optimizer = torch.optim.AdamW([{"params": model[:2].parameters()}, {"params": model[4].parameters()}], 1e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, [lambda step: float(step > 8), lambda step: 1.0])
    for x, y in [*loader] * 3:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        schedule.step()


def decayed_rate():
    model = mlp()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 10.0**-step)
    for x, y in [*loader] * 3:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        schedule.step()


class MonteCarlo(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 16), nn.Linear(16, 2)])

    def forward(self, x):
        return self.layers[1](F.dropout(self.layers[0](x).relu(), 0.2, training=True))


def monte_carlo_dropout():
    model = MonteCarlo()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for x, y in [*loader] * 3:
        optimizer.zero_grad()
        F.cross_entropy(model.train()(x), y).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            torch.stack([model(x) for _ in range(4)]).mean(0)


def policy_gradient():
    policy, value = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3)), nn.Linear(8, 1)
    optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], 1e-3)
    for _ in range(4):
        states, returns = torch.randn(16, 8), torch.randn(16)
        with torch.no_grad():
            before = torch.distributions.Categorical(logits=policy(states))
            actions = before.sample()
            advantages = returns - value(states).squeeze(-1)
        for _ in range(3):
            now = torch.distributions.Categorical(logits=policy(states))
            ratio = (now.log_prob(actions) - before.log_prob(actions)).exp()
            optimizer.zero_grad()
            (F.mse_loss(value(states).squeeze(-1), returns) - (ratio * advantages).mean()).backward()
            optimizer.step()


def triplets():
    model = mlp(4)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for x, y in [*loader] * 3:
        points, count = model(x), len(x)
        squares = points.square().sum(1, keepdim=True).expand(count, count)
        distances = (squares + squares.T - 2 * points @ points.T).clamp(min=1e-12).sqrt()
        same = y[:, None] == y[None]
        optimizer.zero_grad()
        F.relu((distances * same).amax(1) - (distances + 1e6 * same).amin(1) + 0.3).mean().backward()
        optimizer.step()


def generator_samples():
    generator = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8))
    critic = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(), nn.Linear(16, 1))
    of_generator = torch.optim.Adam(generator.parameters(), 1e-3)
    of_critic = torch.optim.Adam(critic.parameters(), 1e-3)
    noise = torch.randn(16, 4)
    for x, _ in [*loader] * 3:
        of_critic.zero_grad()
        fake = generator(torch.randn(16, 4))
        (F.softplus(critic(fake.detach())).mean() + F.softplus(-critic(x)).mean()).backward()
        of_critic.step()
        of_generator.zero_grad()
        F.softplus(-critic(fake)).mean().backward()
        of_generator.step()
        with torch.no_grad():
            generator(noise)


def compared_scores():
    """The bias of the last layer has no influence on differences of scores."""
    critic = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.RMSprop(critic.parameters(), 1e-3)
    for x, _ in [*loader] * 3:
        optimizer.zero_grad()
        (critic(torch.randn(16, 8) + 1).mean() - critic(x).mean()).backward()
        optimizer.step()


class Potential(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(8, 16), nn.Linear(16, 1)

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)))


def force_field():
    """A loss of derivatives does not depend on the last bias."""
    model = Potential()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for x, _ in [*loader] * 3:
        x.requires_grad_()
        forces = torch.autograd.grad(model(x).sum(), x, create_graph=True)[0]
        optimizer.zero_grad()
        F.mse_loss(forces, x.detach()).backward()
        optimizer.step()


class Tasks(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 2), nn.Linear(16, 2)

    def forward(self, x, task):
        x = F.relu(self.body(x))
        return self.first(x) if task == "first" else self.second(x)


def tasks_in_turn(set_to_none=True):
    model = Tasks()
    optimizer = torch.optim.SGD(model.parameters(), 1e-2)
    for step, (x, y) in enumerate([*loader] * 12):
        optimizer.zero_grad(set_to_none=set_to_none)
        F.cross_entropy(model(x, "first" if step // 5 % 2 == 0 else "second"), y).backward()
        optimizer.step()


def tasks_with_kept_gradients():
    tasks_in_turn(set_to_none=False)


def empty_images():
    """In some batches there is no box, so that the loss of boxes is zero."""
    body, classes, boxes = nn.Linear(8, 16), nn.Linear(16, 2), nn.Linear(16, 4)
    modules = nn.ModuleList([body, classes, boxes])
    optimizer = torch.optim.SGD(modules.parameters(), 1e-2)
    for step, (x, y) in enumerate([*loader] * 8):
        found = y.bool() & (step // 4 % 2 == 0)
        features = F.relu(body(x))
        optimizer.zero_grad()
        loss = F.cross_entropy(classes(features), y)
        (loss + F.smooth_l1_loss(boxes(features)[found], torch.ones(int(found.sum()), 4), reduction="sum")).backward()
        optimizer.step()


def trained_input():
    model = mlp().eval()
    image = torch.randn(1, 8, requires_grad=True)
    optimizer = torch.optim.Adam([image], 0.05)
    for _ in range(20):
        optimizer.zero_grad()
        F.mse_loss(model(image), torch.ones(1, 2)).backward()
        optimizer.step()


def converged_search():
    weights = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], line_search_fn="strong_wolfe", tolerance_grad=1e-2)

    def closure():
        optimizer.zero_grad()
        loss = weights.square().sum() + 1
        loss.backward()
        return loss + 0

    for _ in range(10):
        optimizer.step(closure)
        with torch.no_grad():
            weights[0] = 4e-3


def ensemble():
    from torch.func import functional_call, stack_module_state, vmap

    models = [nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2)) for _ in range(3)]
    parameters, buffers = stack_module_state(models)
    optimizer = torch.optim.Adam(parameters.values(), 1e-2)
    base = copy.deepcopy(models[0]).to("meta")
    for x, y in [*loader] * 3:
        call = vmap(lambda p, b, x: functional_call(base, (p, b), (x,)), (0, 0, None))
        optimizer.zero_grad()
        F.cross_entropy(call(parameters, buffers, x).flatten(0, 1), y.repeat(3)).backward()
        optimizer.step()


class Skipping(nn.Module):
    """Skips layers at random while it trains, and the first one in the first steps."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 2)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls > 6 and torch.rand(()) < 0.5:
            x = x + F.relu(self.first(x))
        return self.head(x + F.relu(self.second(x)))


def skipped_layers():
    model = Skipping()
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    for x, y in [*loader] * 4:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


def adversarial():
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    for x, y in loader:
        change = torch.zeros_like(x, requires_grad=True)
        for _ in range(20):
            model.zero_grad()
            F.cross_entropy(model(x + change), y).backward()
            change.data.add_(0.01 * change.grad.sign())
            change.grad = None
        optimizer.zero_grad()
        F.cross_entropy(model(x + change.detach()), y).backward()
        optimizer.step()


def late_generator():
    generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8))
    critic = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(), nn.Linear(16, 1))
    of_generator = torch.optim.RMSprop(generator.parameters(), 1e-3)
    of_critic = torch.optim.RMSprop(critic.parameters(), 1e-3)
    for step, (x, _) in enumerate([*loader] * 8):
        of_critic.zero_grad()
        of_generator.zero_grad()
        (critic(generator(torch.randn(16, 4))) - critic(x)).mean().backward()
        of_critic.step()
        if step % 8 == 7:
            of_generator.zero_grad()
            critic(generator(torch.randn(16, 4))).mean().neg().backward()
            of_generator.step()


class Equation(nn.Module):
    """A network whose derivatives at points that it holds are its loss."""

    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
        self.points = torch.rand(32, 1, requires_grad=True)

    def forward(self, points):
        return self.network(points)


def differential_equation():
    model = Equation()
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(12):
        values = model(model.points)
        (slope,) = torch.autograd.grad(values.sum(), model.points, create_graph=True)
        optimizer.zero_grad()
        ((slope + values).square().mean() + (model(torch.zeros(1, 1)) - 1).square().mean()).backward()
        optimizer.step()


def optimizers_in_turn():
    """Each trains for a while, and resets the gradients of both."""
    encoder, head = nn.Linear(8, 8), nn.Linear(8, 2)
    optimizers = torch.optim.Adam(encoder.parameters(), 1e-2), torch.optim.SGD(head.parameters(), 0.1)
    for step, (x, y) in enumerate([*loader] * 15):
        for each in optimizers:
            each.zero_grad()
        F.cross_entropy(head(encoder(x)), y).backward()
        optimizers[step // 30].step()


def importance_before_training():
    """Gradients of many batches are used before the first step."""
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    importance = [torch.zeros_like(each) for each in model.parameters()]
    for x, y in [*loader] * 5:
        model.zero_grad()
        F.cross_entropy(model(x), y).backward()
        for total, each in zip(importance, model.parameters(), strict=True):
            total += each.grad.square()
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


def sharpness_aware():
    """Steps are made with gradients at other weights, which are restored before."""
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for x, y in [*loader] * 3:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        weights = [each.detach().clone() for each in model.parameters()]
        with torch.no_grad():
            for each in model.parameters():
                each.add_(each.grad, alpha=0.05)
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        with torch.no_grad():
            for each, weight in zip(model.parameters(), weights, strict=True):
                each.copy_(weight)
        optimizer.step()


def rate_search():
    """Rates are tried one after another, each from the same weights."""
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    start = copy.deepcopy(model.state_dict())
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    for step, (x, y) in enumerate([*loader] * 3):
        model.load_state_dict(start)
        optimizer.param_groups[0]["lr"] = 1e-3 * 1.5**step
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


def averages_for_evaluation():
    """The weights are swapped for their averages, and swapped back after the evaluation."""
    model = mlp()
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for x, y in [*loader] * 3:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        with torch.no_grad():
            for mean, each in zip(average.parameters(), model.parameters(), strict=True):
                mean.lerp_(each, 0.1)
        trained = copy.deepcopy(model.state_dict())
        model.load_state_dict(average.state_dict())
        model.eval()
        with torch.no_grad():
            model(x)
        model.train()
        model.load_state_dict(trained)


def meta_learning():
    """Each task begins at the same weights, which another optimizer changes after some tasks."""
    model = nn.Linear(8, 2)
    inner = torch.optim.SGD(model.parameters(), 0.1)
    outer = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(3):
        start = copy.deepcopy(model.state_dict())
        total = [torch.zeros_like(each) for each in model.parameters()]
        for x, y in loader:
            inner.zero_grad()
            F.cross_entropy(model(x), y).backward()
            inner.step()
            for sum_, each, begin in zip(total, model.parameters(), start.values(), strict=True):
                sum_ += begin - each.detach()
            model.load_state_dict(start)
        for sum_, each in zip(total, model.parameters(), strict=True):
            each.grad = sum_
        outer.step()


globals()[sys.argv[1]]()
print("done")
