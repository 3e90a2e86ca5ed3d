"""Conditions on quantiles and on channels, and infinities that the user lists as intentional, in real PyTorch jobs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import GRAPHDBG, Finished, Server, clean_environment

# `outliers` has 2 % of large elements, which the mean and p95 hardly show. Column 2 of `columns` is zero.
NAMES = ("p01", "p05", "p10", "p25", "p50", "p75", "p90", "p95", "p99")
TRAIN = """
import torch
from torch import nn

torch.manual_seed(0)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        outliers = torch.where(torch.arange(20_000) % 50 == 0, 100.0, 0.5)
        scale = outliers * 2
        columns = self.fc(x) * torch.tensor([1.0, 1.0, 0.0, 1.0])
        return columns.sum() + scale.mean()

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(3):
    optimizer.zero_grad()
    net(torch.ones(8, 4)).backward()
    optimizer.step()
"""
# Reciprocal makes infinities, which the addition passes on. Those of log come from elsewhere.
INFINITE = """
import torch

weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.1)
zeros = torch.tensor([0.0, 1.0, 2.0])
for _ in range(2):
    optimizer.zero_grad()
    scores = zeros.reciprocal()
    shifted = scores + 1
    loss = (weight * torch.ones(3)).sum() + shifted.sum()
    {more}
    loss.backward()
    optimizer.step()
"""
SPREAD = {"forward/reciprocal", "forward/add"}


@pytest.fixture
def watched(debug_run: Callable[..., Finished], tmp_path: Path) -> Callable[..., Finished]:
    def run(script: str, watch: str, *options: str) -> Finished:
        path = tmp_path / "train.py"
        path.write_text(script)
        arguments = ("--no-wait", "--break-on", watch, "--on-hit", "continue", *options)
        return debug_run(*arguments, command=[sys.executable, str(path)])

    return run


def first_hits(run: Finished) -> dict[str, dict[str, float]]:
    """What was measured, by node, in the first step."""
    return {hit["node"]: hit["actual"] for hit in run.result["hits"] if hit["step"] == 1}


def test_a_quantile_is_compared(watched: Callable[..., Finished]) -> None:
    hits = first_hits(watched(TRAIN, "expr:p99 > 150 && p50 < 2 && p95 == p50"))
    assert hits == {"forward/mul": {"p99": 200, "p50": 1, "p95": 1}}
    assert first_hits(watched(TRAIN, "expr:p99 > 250 && p50 < 2")) == {}


def test_channels_are_tested_by_themselves(watched: Callable[..., Finished]) -> None:
    hits = first_hits(watched(TRAIN, "tensor_all_zero:axis=1"))
    assert hits["forward/mul_1"] == {"zero_percentage_ge": 100, "channel": 2, "matching_channels": 1}
    by_row = first_hits(watched(TRAIN, "expr:axis=0:zero_percentage == 25 && count == 4"))
    assert by_row["forward/mul_1"] == {"zero_percentage": 25, "count": 4, "channel": 0, "matching_channels": 8}


def test_a_wrong_axis_is_refused(watched: Callable[..., Finished]) -> None:
    for watch, message in {
        "tensor_all_zero:axis=1.5": "axis: must be a whole number, not 1.5",
        "nan:axis=1": 'condition "nan" has no such parameter',
    }.items():
        command = [GRAPHDBG, "run", "--no-wait", "--break-on", watch, "--", sys.executable, "-c", "pass"]
        run = subprocess.run(command, capture_output=True, text=True, timeout=120, env=clean_environment())
        assert run.returncode == 2
        assert message in run.stderr


def test_statistics_have_quantiles(server: Server, tmp_path: Path, start_job: Any) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    start_job([sys.executable, str(tmp_path / "train.py")], server.job_environment(GRAPHDBG_JOB="train"))
    server.wait_for_state("train", "paused", pause_reason="start")
    server.control("train", "step")
    server.wait_for_state("train", "paused", pause_reason="step")
    statistics = server.client.get("/jobs/train/tensor/statistics?name=forward/mul:0")["statistics"]
    assert statistics["quantiles"] == dict.fromkeys(NAMES, 1) | {"p99": 200}
    assert statistics["max"] == 200
    # Nothing is computed that was not asked for.
    value = server.client.get("/jobs/train/tensor?name=forward/mul:0&slice=[0]&statistics=true")
    assert "quantiles" not in value["statistics"]


def test_recorded_values_have_them_and_are_rechecked(tmp_path: Path, debug_run: Callable[..., Finished]) -> None:
    script = tmp_path / "train.py"
    script.write_text(TRAIN)
    config = tmp_path / "job.json"

    def recheck(level: str) -> subprocess.CompletedProcess[str]:
        config.write_text(
            json.dumps({"record": {"overhead": 0, "parquet": False}, "collections": [{"name": "all", "level": level}]})
        )
        directory = tmp_path / level
        options = ("--no-wait", "--config", str(config), "--record", str(directory))
        run = debug_run(*options, command=[sys.executable, str(script)])
        command = [GRAPHDBG, "recheck", run.result["run"], "expr:p99 > 150", "tensor_all_zero:axis=1"]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, env=clean_environment())

    saved = recheck("tensors")
    assert saved.returncode == 1, saved.stderr
    assert "forward/mul:0  expression" in saved.stdout
    assert "forward/mul_1:0  tensor_all_zero" in saved.stdout
    measured = recheck("statistics")
    assert "p99 (computed from values, which collections at `level: tensors` record) was not recorded" in (
        measured.stdout + measured.stderr
    )


def test_listed_infinities_are_intentional(watched: Callable[..., Finished], tmp_path: Path) -> None:
    script = INFINITE.format(more="")
    assert first_hits(watched(script, "inf:absorbed=stop")).keys() >= SPREAD
    for pattern in ("forward/recip*", "op_type:reciprocal"):
        run = watched(script, "inf:absorbed=stop", "--intentional-inf", pattern)
        assert not SPREAD & first_hits(run).keys(), pattern
    config = tmp_path / "job.yaml"
    config.write_text("intentional_infinities: ['forward/recip*']\n")
    # Others are hits all the same.
    other = INFINITE.format(more="loss = loss + torch.log(zeros).sum()")
    hits = first_hits(watched(other, "inf:absorbed=stop", "--config", str(config)))
    assert "forward/log" in hits
    assert not SPREAD & hits.keys()


def test_errors_of_the_list_name_the_line(tmp_path: Path) -> None:
    config = tmp_path / "job.yaml"
    config.write_text("step_on: optimizer\nintentional_infinities: ['a,b', 3]\n")
    command = [GRAPHDBG, "config", "check", str(config)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, env=clean_environment())
    assert run.returncode == 1
    assert "job.yaml:2: intentional_infinities[0]: expected PATTERN or op_type:PATTERN" in run.stdout + run.stderr
    assert "job.yaml:2: intentional_infinities[1]: expected" in run.stdout + run.stderr
