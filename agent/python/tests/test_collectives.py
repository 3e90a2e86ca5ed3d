"""Whether a program's loop may send gradients or parameters to other ranks."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from graphdbg._torch.training import program_text  # noqa: E402
from graphdbg._torch.training.collectives import Collectives  # noqa: E402

PROGRAM = """
def train(dist, model, loss, look):
    for step in range(3):
        {line}
        look()
    {behind}

def average(dist, model):
    for parameter in model.parameters():
        dist.all_reduce(parameter.data)
"""


def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, behind: str) -> list[bool]:
    """In each step of a program with these lines, whether nothing can synchronize its model."""
    file = tmp_path / "program.py"
    file.write_text(PROGRAM.format(line=line, behind=behind))
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    collectives, found = Collectives(), list[bool]()

    def send(name: str) -> Any:
        return lambda tensor, *more: collectives.add(name, (tensor, *more), sys._getframe(1))

    def look() -> None:
        # The frame of the program, without those of the test runner, which is a library.
        frame = sys._getframe(1)
        monkeypatch.setattr(program_text, "frames_from", lambda _: iter([frame]))
        found.append(collectives.cannot_synchronize(frame))

    # The modules of other tests are no part of the program.
    monkeypatch.setattr(program_text, "_files_of_modules", lambda _: [])
    dist = SimpleNamespace(**{name: send(name) for name in ("all_reduce", "barrier", "broadcast")})
    names["train"](dist, torch.nn.Linear(8, 8), torch.zeros(()), look)
    return found


@pytest.mark.parametrize(
    ("line", "behind", "cannot"),
    [
        ("pass", "pass", True),
        ("dist.all_reduce(loss)", "pass", True),
        ("dist.barrier(None)", "pass", True),
        # A method of tensors.
        ("loss.view(1).gather(0, loss.long().view(1))", "pass", True),
        ("pass", "dist.broadcast(model.weight, 0)", True),
        ("dist.all_reduce(model.weight)", "pass", False),
        ("average(dist, model)", "pass", False),
        # It has not been executed yet, as in local SGD.
        ("step == 9 and dist.all_reduce(loss)", "pass", False),
        ("step == 9 and average(dist, model)", "pass", False),
        ("getattr(dist, 'sync_params', id)(model); step == 9 and dist.sync_params(model)", "pass", False),
    ],
)
def test_what_may_be_sent_is_read_and_observed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, behind: str, cannot: bool
) -> None:
    assert answers(tmp_path, monkeypatch, line, behind) == [cannot] * 3
