"""Trainings that each go wrong in a different way, one in each step, for the sentences that explain it.

The method of a case is the forward pass of one training step. Its ops are in the scope
`forward/<case>`, and its values are chosen so that the numbers in the sentences are round.
"""

import warnings
from collections.abc import Callable

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

Forward = Callable[[nn.Parameter], torch.Tensor]
CASES: dict[str, Forward] = {}


def case(forward: Forward) -> Forward:
    CASES[forward.__name__] = forward
    return forward


def filled(*values: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype)


def with_infinity(w: torch.Tensor) -> torch.Tensor:
    """An infinity that the program has asked for, which is no fault by itself."""
    return (torch.ones(2) * w).masked_fill(torch.tensor([True, False]), torch.inf)


@case
def softmax_then_log(w):
    return torch.softmax(filled(0, 200, 400) * w, 0).log()


@case
def softmax_over_batch(w):
    return torch.softmax(torch.tensor([[0.0, 1], [200, 1], [400, 1]]) * w, 0).log()


@case
def log_of_zero(w):
    return (filled(0, 1, 2, 3) * w).log()


@case
def log_of_negative(w):
    return (filled(-2, 1) * w).log()


@case
def zero_by_zero(w):
    x = filled(0, 4) * w
    return x / x


@case
def number_by_zero(w):
    return filled(1, 2) * w / 0


@case
def deviation_of_zero(w):
    x = filled(3, 3, 3, 3) * w
    return (x + filled(1, 2, 3, 4)) / x.std()


@case
def sqrt_of_negative(w):
    return (filled(-1, 4) * w).sqrt()


@case
def rsqrt_of_zero(w):
    return (filled(0, 4) * w).rsqrt()


@case
def sqrt_gradient(w):
    return (filled(0, 4) * w).sqrt()


@case
def exponential(w):
    return (filled(1, 95) * w).exp()


@case
def negative_power(w):
    return (filled(-8, 8) * w) ** 0.3


@case
def power_of_zero(w):
    return (filled(0, 8) * w) ** -1.5


@case
def power_overflow(w):
    return (filled(1, 1e20) * w) ** 2


@case
def arc_cosine(w):
    return torch.acos(filled(0, 1.25) * w)


@case
def half_product(w):
    return (filled(12_032, 3) * w).half() * 8


@case
def half_tensor_product(w):
    return (filled(400, 3) * w).half() * (filled(300, 2) * w).half()


@case
def half_matrix_product(w):
    return (torch.full((4, 64), 50.0) * w).half() @ torch.full((64, 4), 40.0).half()


@case
def attention_scores(w):
    queries = (torch.full((1, 4, 64), 50.0) * w).half()
    keys = torch.full((1, 64, 4), 40.0).half()
    return torch.softmax(torch.bmm(queries, keys), -1)


@case
def repeated_product(w):
    state = torch.full((2, 2), 1e26) * w
    for _ in range(6):
        state = state @ torch.full((2, 2), 1e3)
    return state


@case
def half_sum(w):
    return (torch.full((2_000,), 40.0) * w).half().sum()


@case
def half_addition(w):
    return (filled(40_000, 1) * w).half() + (filled(30_000, 1) * w).half()


@case
def cast_to_half(w):
    return (filled(70_000, 1) * w).half()


@case
def division_by_tiny(w):
    return (filled(1, 1) * w) / (filled(1e-39, 1) * w)


@case
def infinity_minus_infinity(w):
    return with_infinity(w) - with_infinity(w)


@case
def infinity_times_zero(w):
    return with_infinity(w) * (filled(0, 1) * w)


@case
def bad_constant(w):
    return filled(torch.inf, 1) * w


@case
def masked_row(w):
    mask = torch.tensor([[False, True], [True, True]])
    return torch.softmax((torch.ones(2, 2) * w).masked_fill(mask, -torch.inf), 1)


@case
def labels_ignored(w):
    return F.cross_entropy(torch.ones(8, 3) * w, torch.full((8,), -100))


@case
def mean_of_nothing(w):
    return (torch.ones(0) * w).mean()


@case
def deviation_of_one(w):
    return (torch.ones(1) * w).std()


@case
def normalization_without_epsilon(w):
    return F.layer_norm(torch.full((2, 4), 3.0) * w, (4,), eps=0)


@case
def scaled_loss(w):
    return filled(1e5, 1) * w


@case
def dead_relu(w):
    return torch.relu(torch.linspace(-50.5, -49.5, 64) * w)


@case
def saturated_sigmoid(w):
    return torch.sigmoid(torch.linspace(20, 60, 64) * w)


@case
def vanishing_gradient(w):
    return torch.ones(2) * w * 1e-12


@case
def exploding_gradient(w):
    return torch.ones(2) * w * 1e6


def bad_weight(w):
    return filled(1, 2) * w


@case
def frozen(w):
    return filled(1, 2) * w


@case
def rate_of_zero(w):
    return filled(1, 2) * w


@case
def not_optimized(w):
    return filled(1, 2) * w


@case
def unexplained(w):
    return Opaque.apply(w)


class Opaque(torch.autograd.Function):
    """Returns NaN for values of which nothing says why."""

    @staticmethod
    def forward(ctx, w):
        return torch.logit(w * 0.5) * w + torch.nan_to_num(w, 0) * torch.nan

    @staticmethod
    def backward(ctx, gradient):
        return torch.zeros_like(gradient)


class Case(nn.Module):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.run = CASES.get(name, bad_weight)
        self.weight = nn.Parameter(torch.ones(1), requires_grad=name != "frozen")
        self.other = nn.Parameter(torch.ones(1)) if name == "frozen" else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.other is not None:
            return self.run(self.weight) * self.other
        return self.run(self.weight)


class BadInput(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


class Cases(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bad_input = BadInput()
        for name in ["bad_weight", *CASES]:
            self.add_module(name, Case(name))

    def forward(self, name: str, x: torch.Tensor) -> torch.Tensor:
        return self.get_submodule(name)(x)


def batch(bad: bool) -> torch.Tensor:
    """A sample that no op has made."""
    sample = np.ones(4, np.float32)
    if bad:
        sample[1] = np.nan
    return torch.frombuffer(sample, dtype=torch.float32)


def main() -> None:
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    model = Cases()
    with torch.no_grad():
        model.bad_weight.weight.fill_(torch.nan)
    scaler = torch.amp.GradScaler("cpu", init_scale=1e35, enabled=True)
    for name in ["bad_weight", "bad_input", *CASES]:
        parameters = [p for p in model.get_submodule(name).parameters() if p.requires_grad]
        if name == "not_optimized":
            parameters = [nn.Parameter(torch.ones(1))]
        # The ops of an optimizer are in a scope with the name of its class.
        optimizer = type(name, (torch.optim.SGD,), {})(parameters, lr=0.0 if name == "rate_of_zero" else 0.01)
        loss = model(name, batch(bad=name == "bad_input")).float().sum()
        if name == "scaled_loss":
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
