"""`graphdbg recheck` finds in a recording what watchpoints found in the job."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import GRAPHDBG, Finished, clean_environment

# The logarithm of a negative prediction is NaN.
TRAINS = """
import torch
torch.manual_seed(0)
x = torch.randn(64, 8)
y = (x[:, 0] * 3).exp()
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(6):
    optimizer.zero_grad()
    prediction = net(x).squeeze(1) + 2 - step * 0.5
    loss = (prediction.log() - y.log()).pow(2).mean()
    loss.backward()
    optimizer.step()
"""
CONDITIONS = ["nan", "abs_max_gt:1.5", "expr:zero_count > 0 && step > 1", "min_lt:-1"]


def recheck(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [GRAPHDBG, "recheck", *arguments], capture_output=True, text=True, timeout=120, env=clean_environment()
    )


def found(hits: list[dict[str, Any]], condition: str) -> set[tuple[int, str, int]]:
    """Without values from before the first step, which no step contains."""
    return {(hit["step"], hit["node"], hit["slot"]) for hit in hits if hit["condition"] == condition and hit["step"]}


@pytest.fixture
def recorded(debug_run: Callable[..., Finished], tmp_path: Path) -> tuple[Finished, Path]:
    """A job that was watched and recorded at the same time."""
    script = tmp_path / "train.py"
    script.write_text(TRAINS)
    config = tmp_path / "job.yaml"
    config.write_text("record: {overhead: 0}\ncollections: [{name: all}]\n")
    run = debug_run(
        "--no-wait",
        "--on-hit=continue",
        f"--break-on={','.join(CONDITIONS)}",
        f"--record={tmp_path / 'runs'}",
        f"--config={config}",
        command=[sys.executable, str(script)],
    )
    assert run.code == 0, run.stderr
    return run, Path(run.result["run"])


def test_a_recording_has_the_hits_of_the_job(recorded: tuple[Finished, Path]) -> None:
    run, directory = recorded
    done = recheck(str(directory), *CONDITIONS, "--json")
    assert done.returncode == 1, done.stderr
    for check in json.loads(done.stdout)["checks"]:
        condition = check["condition"]["id"]
        live = found(run.result["hits"], condition)
        assert live, condition
        assert found(check["hits"], condition) == live
        assert check["hit_count"] == len(check["hits"])


def test_hits_are_printed_with_their_source_and_limited_to_steps(recorded: tuple[Finished, Path]) -> None:
    _, directory = recorded
    done = recheck(str(directory), "nan", "--steps", "6:6")
    assert done.returncode == 1
    first = done.stdout.splitlines()[0]
    assert first.startswith("step 6  rank 0  ")
    assert "train.py:" in first
    assert all(line.startswith("step 6 ") for line in done.stdout.splitlines())
    assert "nan: " in done.stderr
    nothing = recheck(str(directory), "abs_max_gt:1e30")
    assert (nothing.returncode, nothing.stdout) == (0, "")


def test_wrong_arguments_are_named(recorded: tuple[Finished, Path], tmp_path: Path) -> None:
    _, directory = recorded
    unknown = recheck(str(directory), "nann")
    assert unknown.returncode == 2
    assert "unknown condition 'nann'" in unknown.stderr
    absent = recheck(str(tmp_path / "nothing"), "nan")
    assert absent.returncode != 0
    assert "nothing" in absent.stderr
