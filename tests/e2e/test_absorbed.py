"""Infinities that reach no result do not stop training; all others stop where they take effect."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import HOSTS, Finished

PREAMBLE = """
import math
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

def train(loss_of, steps=2):
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(net(torch.ones(2, 4)))
        loss.backward()
        optimizer.step()

x = torch.tensor([0.0, 1.0, 2.0, 3.0])
"""


@pytest.fixture
def trained(debug_run, tmp_path: Path):
    def train(text: str, watch: str = "nan,inf", on_hit: str = "terminate") -> Finished:
        script = tmp_path / "train.py"
        script.write_text(PREAMBLE + text)
        options = ("--no-wait", "--break-on", watch, "--on-hit", on_hit)
        return debug_run(*options, command=[sys.executable, str(script)])

    return train


def nodes(hits: list[dict]) -> list[tuple[int, str]]:
    return [(hit["step"], hit["node"]) for hit in hits]


DISCARDED = "train(lambda y: (y + torch.where(x > 0, torch.log(x), 0.0)).pow(2).sum())\n"

# Like in T5: the logarithm is converted to integers, of which the branch uses others.
BUCKETS = """
def bucket(position):
    large = 2 + (torch.log(position.float() / 2) / math.log(8 / 2) * 2).to(torch.long)
    large = torch.min(large, torch.full_like(large, 3))
    return torch.where(position < 2, position, large)

bias = nn.Embedding(4, 4)
positions = torch.arange(4)
train(lambda y: (y + bias(bucket(positions)).sum(0)).pow(2).sum())
"""


@pytest.mark.parametrize(
    ("script", "first"),
    [
        (DISCARDED, "forward/log"),
        (BUCKETS, "forward/log"),
        ("train(lambda y: (y + torch.log(x).clamp(min=-5)).pow(2).sum())\n", "forward/log"),
        ("train(lambda y: (y + torch.exp(x * 1000).reciprocal()).pow(2).sum())\n", "forward/exp"),
        (
            "train(lambda y: y.pow(2).sum() + (1 / x).max(torch.tensor(9.0)).clamp(max=10).sum())\n",
            "forward/reciprocal",
        ),
    ],
)
def test_what_an_op_absorbs_is_listed_and_does_not_stop(trained, script: str, first: str) -> None:
    run = trained(script)
    assert run.result["status"] == "finished", run.stderr
    assert run.result["hits"] == []
    absorbed = run.result["absorbed_hits"]
    assert nodes(absorbed)[0] == (1, first)
    assert {hit["step"] for hit in absorbed} == {1, 2}
    assert all(hit["absorbed"] for hit in absorbed)
    assert f"infinities at {first}" in run.stderr


def test_the_parameter_absorbed_stops_there(trained) -> None:
    run = trained(DISCARDED, watch="inf:absorbed=stop")
    assert run.result["status"] == "terminated"
    assert nodes(run.result["hits"]) == [(1, "forward/log")]
    assert run.result["absorbed_hits"] == []


def test_an_expression_stops_there(trained) -> None:
    run = trained(DISCARDED, watch="expr:inf_count > 0")
    assert nodes(run.result["hits"]) == [(1, "forward/log")]


@pytest.mark.long
@pytest.mark.parametrize("watch", ["overflow", "tensor_overflow"])
def test_other_conditions_of_infinities_are_alike(trained, watch: str) -> None:
    run = trained(DISCARDED, watch=watch)
    assert run.result["status"] == "finished", run.stderr
    assert run.result["absorbed_hits"]


def test_what_reaches_the_loss_stops_and_names_its_origin(trained) -> None:
    run = trained("train(lambda y: (y + torch.log(x)).sum())\n")
    assert run.result["status"] == "terminated"
    first = run.result["hits"][0]
    assert (first["step"], first["node"], first["origin"]) == (1, "forward/log", "origin")
    assert run.result["absorbed_hits"] == []
    # Nothing was trained with it.
    assert run.result["steps"] == 0


def test_a_loss_that_only_the_backward_pass_reads_stops_there(trained) -> None:
    run = trained("train(lambda y: torch.exp(y.sum() * 0 + 1000))\n")
    assert run.result["status"] == "terminated"
    assert nodes(run.result["hits"])[0] == (1, "forward/exp")
    assert run.result["steps"] == 0


def test_what_nothing_reads_stops_at_the_end_of_the_step(trained) -> None:
    run = trained("train(lambda y: (torch.log(x), y.sum())[1])\n")
    assert run.result["status"] == "terminated"
    assert nodes(run.result["hits"]) == [(1, "forward/log")]


def test_a_discarded_branch_whose_gradient_is_bad_names_its_origin(trained) -> None:
    run = trained("train(lambda y: torch.where(y > 1e9, torch.log(y * 0), y).sum())\n")
    assert run.result["status"] == "terminated"
    first = run.result["hits"][0]
    assert (first["step"], first["node"], first["origin"]) == (1, "forward/log", "origin")
    assert run.result["hits"][-1]["condition"] == "nan"
    assert run.result["steps"] == 0


def test_nan_stops_at_once(trained) -> None:
    run = trained("train(lambda y: (y + torch.where(x > 0, torch.log(-1 - x), 0.0)).sum())\n")
    assert run.result["status"] == "terminated"
    assert [hit["condition"] for hit in run.result["hits"]] == ["nan"]
    assert nodes(run.result["hits"]) == [(1, "forward/log")]


@pytest.mark.parametrize("inside", [True, False])
def test_infinities_in_the_data_do_not_hide_those_of_layers(trained, inside: bool) -> None:
    run = trained(
        f"""
def corrupt(data):
    data[0, 0] = math.inf
    return data

data = corrupt(torch.ones(2, 4))
optimizer.step()
for _ in range(2):
    given = corrupt(torch.ones(2, 4)) if {inside} else data
    y = net(given)
    z = torch.exp(torch.ones(2, 4) * 1000 + net.weight.sum())
    (y.clamp(-1, 1) + z.clamp(-1, 1)).sum().backward()
    optimizer.zero_grad()
    optimizer.step()
""",
        on_hit="continue",
    )
    found = {node for _, node in nodes(run.result["hits"] + run.result["absorbed_hits"])}
    # The layer spreads the infinity of its data, and exp makes its own.
    assert {"forward/addmm", "forward/exp"} <= found


def test_masks_are_neither_hits_nor_listed(debug_run) -> None:
    script = HOSTS / "masked_transformer.py"
    run = debug_run("--no-wait", "--break-on", "nan,inf", command=[sys.executable, str(script)])
    assert run.result["hits"] == run.result["absorbed_hits"] == []
