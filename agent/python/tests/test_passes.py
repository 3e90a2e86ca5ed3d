"""The agent infers the purpose of a model's calls."""

from __future__ import annotations

from collections.abc import Callable

from conftest import Run

TRAIN, EVAL, PREDICT = 1, 2, 3

MODEL = """
import torch
model = torch.nn.Linear(2, 1)
x = torch.ones(3, 2)
"""


def passes(run: Run) -> list[tuple[str, int, int, bool]]:
    """Calls by name, with step, mode and whether they belong to a training step."""
    names = ("begin_pass", "end_pass", "step_end")
    calls = [call for call in run.calls if call["call"] in names]
    return [(call["call"], call["step"], call.get("mode", 0), call.get("within_step", False)) for call in calls]


def test_evaluation_is_a_pass_of_the_training_step(script: Callable[..., Run]) -> None:
    run = script(
        MODEL + "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "loss = torch.nn.MSELoss()\n"
        "model.eval()\n"
        "with torch.no_grad():\n"
        "    for _ in range(2):\n"
        "        loss(model(x), torch.ones(3, 1))\n"
        "model.train()\n"
        "loss(model(x), torch.ones(3, 1)).backward()\n"
        "optimizer.step()\n"
    )
    assert passes(run) == [
        ("begin_pass", 1, EVAL, True),
        ("begin_pass", 1, EVAL, True),
        ("begin_pass", 1, TRAIN, False),
        ("step_end", 1, 0, False),
    ]


def test_evaluation_ends_before_a_backward_pass_without_a_model(script: Callable[..., Run]) -> None:
    run = script(
        MODEL + "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "with torch.no_grad(): model(x)\n"
        "(x @ model.weight.T).sum().backward()\n"
        "optimizer.step()\n"
    )
    assert passes(run) == [
        ("begin_pass", 1, EVAL, True),
        ("end_pass", 1, 0, False),
        ("step_end", 1, 0, False),
    ]


def test_without_an_optimizer_each_call_is_a_step(script: Callable[..., Run]) -> None:
    run = script(MODEL + "with torch.no_grad(): model(x)\nmodel.eval()\nmodel(x)\nmodel.train()\nmodel(x)\n")
    begins = [call[2:] for call in passes(run) if call[0] == "begin_pass"]
    assert begins == [(PREDICT, False), (EVAL, False), (TRAIN, False)]
