"""Whether a program's source may call `step` of an optimizer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from graphdbg._torch.training.step_calls import may_be_stepped, reads_gradients  # noqa: E402

PROGRAM = """
def train(optimizer, other, schedule, look):
    {line}
    look()

def apply(optimizer):
    optimizer.step()

def unrelated(optimizer):
    optimizer.step()
"""


@pytest.fixture
def seen(tmp_path: Path) -> Callable[[str], tuple[bool, bool]]:
    """What a program with this line tells about its optimizer: whether it may step, and reads gradients."""

    def run(line: str) -> tuple[bool, bool]:
        file = tmp_path / "program.py"
        file.write_text(PROGRAM.format(line=line))
        names: dict[str, Callable[..., None]] = {}
        exec(compile(file.read_text(), str(file), "exec"), names)
        weight = torch.nn.Parameter(torch.zeros(1))
        optimizer, other = torch.optim.SGD([weight], 0.1), torch.optim.SGD([torch.zeros(1)], 0.1)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        found: list[tuple[bool, bool]] = []

        def look() -> None:
            # The frames of the program, without those of the test runner, which is a library.
            frame = sys._getframe(1)
            found.append((_alone(optimizer, frame), reads_gradients(frame)))

        names["train"](optimizer, other, schedule, look)
        return found[0]

    return run


def _alone(optimizer: object, frame: object) -> bool:
    from graphdbg._torch.training import program_text

    original, modules = program_text.frames_from, program_text._files_of_modules
    program_text.frames_from = lambda _: iter([frame])  # type: ignore[assignment,list-item]
    # The modules of other tests are no part of the program.
    program_text._files_of_modules = lambda _: []
    try:
        return may_be_stepped(optimizer, None)
    finally:
        program_text._files_of_modules = modules
        program_text.frames_from = original


@pytest.mark.parametrize(
    ("line", "may_step"),
    [
        ("pass", False),
        ("optimizer.step", False),
        ("schedule.step()", False),
        ("other.step()", False),
        ("optimizer.step()", True),
        ("(optimizer if True else other).step()", True),
        ("apply(optimizer)", True),
        ("call = optimizer.step", True),
        ("[each.step() for each in (optimizer,)]", True),
    ],
)
def test_calls_that_may_be_of_the_optimizer(seen, line: str, may_step: bool) -> None:
    assert seen(line)[0] is may_step


def test_programs_that_read_gradients(seen) -> None:
    assert seen("total = 0 if True else optimizer.param_groups[0]['params'][0].grad")[1]
    assert not seen("pass")[1]
