"""Which steps of optimizers end a step of the job."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def steps(stage: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("staged_steps", stage / "graphdbg" / "_optimizer_steps.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["staged_steps"] = module
    spec.loader.exec_module(module)
    return module


class Optimizer:
    pass


def ended(steps: ModuleType, order: list[Optimizer]) -> list[int]:
    """The positions of the optimizer steps that ended a step of the job."""
    ends: list[int] = []
    counter = steps.StepCounter(lambda: ends.append(position))
    for position, optimizer in enumerate(order):  # noqa: B007 - read by the lambda
        counter(optimizer)
    return ends


def test_every_step_of_a_single_optimizer(steps: ModuleType) -> None:
    a = Optimizer()
    assert ended(steps, [a, a, a]) == [0, 1, 2]


def test_two_in_turn_make_one_step(steps: ModuleType) -> None:
    a, b = Optimizer(), Optimizer()
    assert ended(steps, [a, b, a, b, a, b]) == [0, 2, 4]


def test_the_more_frequent_one_leads(steps: ModuleType) -> None:
    a, b = Optimizer(), Optimizer()
    assert ended(steps, [a, b, b, b, a, b, b, b]) == [0, 2, 3, 5, 6, 7]


def test_one_phase_after_the_other(steps: ModuleType) -> None:
    a, b = Optimizer(), Optimizer()
    assert ended(steps, [a, a, b, b, b, a, a]) == [0, 1, 3, 4, 6]


def test_a_new_one_leads_when_the_old_one_is_gone(steps: ModuleType) -> None:
    ends: list[str] = []
    counter = steps.StepCounter(lambda: ends.append(name))
    for name in ("first", "second"):  # noqa: B007 - read by the lambda
        optimizer = Optimizer()
        counter(optimizer)
        del optimizer
    assert ends == ["first", "second"]
