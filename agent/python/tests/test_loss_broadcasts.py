"""Losses that broadcast by mistake are distinguished from those that do so on purpose."""

from __future__ import annotations

from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch")

from graphdbg._torch.training.broadcasts import mistake_in  # noqa: E402
from graphdbg._torch.training.loss_graph import nodes_of_loss  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

x, y, weights = torch.randn(4, 3), torch.randn(4), torch.rand(4)
column, classes, pictures = y[:, None], torch.tensor([0, 1, 0, 1]), torch.randn(4, 1, 5, 5)
one, two, pixels = nn.Linear(3, 1), nn.Linear(3, 2), nn.Conv2d(1, 1, 1)
sequences = torch.randn(1, 7, 3)


def cross_entropies() -> Tensor:
    return F.cross_entropy(two(x), classes, reduction="none")


def squares() -> Tensor:
    return two(x).square().sum(1, keepdim=True).expand(4, 4)


MISTAKES: dict[str, Callable[[], Tensor]] = {
    "l1": lambda: F.l1_loss(one(x), y),
    "huber": lambda: F.huber_loss(one(x), y),
    "smooth_l1": lambda: F.smooth_l1_loss(one(x), y),
    "mse": lambda: F.mse_loss(one(x)[:, 0], column),
    "difference": lambda: (y - one(x)).square(),
    "weights": lambda: column * cross_entropies(),
    "divided": lambda: cross_entropies() / column,
    "weights_of_columns": lambda: F.mse_loss(one(x), column, reduction="none") * weights,
    "log_probability": lambda: torch.distributions.Normal(one(x), torch.ones(4, 1)).log_prob(y),
    "policy": lambda: torch.distributions.Categorical(logits=two(x)).log_prob(classes) * column,
    "images": lambda: F.mse_loss(pixels(pictures), torch.randn(4, 5, 5)),
    "labels_with_channels": lambda: F.l1_loss(pixels(pictures).squeeze(1), pictures),
    "sequence": lambda: F.mse_loss(one(sequences), torch.randn(1, 7)),
    "advantages": lambda: cross_entropies() * (y - weights[:, None]),
}
ON_PURPOSE: dict[str, Callable[[], Tensor]] = {
    "same_shapes": lambda: F.mse_loss(one(x), column) + F.mse_loss(one(x)[:, 0], y),
    "pairs": lambda: one(x)[:, 0][:, None] - one(x)[:, 0][None],
    "each_with_each_label": lambda: one(x)[:, 0][:, None] - y,
    "view": lambda: one(x)[:, 0].view(-1, 1) - y.view(1, -1),
    "weights": lambda: cross_entropies() * weights,
    "rows": lambda: F.mse_loss(two(x), torch.randn(4, 2), reduction="none") * column,
    "matrix_of_weights": lambda: F.mse_loss(one(x)[:, 0], y, reduction="none") * torch.rand(4, 4),
    "number": lambda: F.mse_loss(one(x), column) / 2 * torch.tensor(0.5),
    "matrix_of_equal_rows": lambda: cross_entropies() * (y - torch.zeros(4, 1)),
    "parameters": lambda: nn.Parameter(torch.zeros(4, 1)) - torch.randn(4, 4),
    "quantiles": lambda: column - nn.Linear(3, 5)(x),
    "distances": lambda: (squares() + squares().T).clamp(min=1e-12).sqrt(),
    "prototypes": lambda: two(x)[:, None] - torch.randn(4, 2)[None],
}


def mistakes(loss: Tensor) -> list[str]:
    found = [mistake_in(node, user) for node, user in nodes_of_loss(loss.mean().grad_fn)]
    return [each for each in found if each is not None]


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("name", MISTAKES)
def test_a_broadcast_by_mistake_is_found(name: str) -> None:
    assert len(mistakes(MISTAKES[name]())) == 1


@pytest.mark.parametrize("name", ON_PURPOSE)
def test_a_broadcast_on_purpose_is_not_a_mistake(name: str) -> None:
    assert mistakes(ON_PURPOSE[name]()) == []
