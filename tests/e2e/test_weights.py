"""Conditions on weights, checked on real jobs: initialization and changes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Server, wait_until

# The optimizer does not get the first layer, and the last layer's weight starts at
# zero. The learning rate of step 5 is a thousand times that of the others. Prints the
# relative change of the last layer's weight in float64.
SCRIPT = """
import torch

torch.manual_seed(3)
x = torch.randn(64, 8)
y = x @ torch.arange(8.0).unsqueeze(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
torch.nn.init.zeros_(model[2].weight)
optimizer = torch.optim.SGD(model[2].parameters(), lr=1e-5)
for step in range(1, 8):
    before = model[2].weight.detach().double()
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.param_groups[0]["lr"] = 1e-2 if step == 5 else 1e-5
    optimizer.step()
    after = model[2].weight.detach().double()
    change = ((after - before).abs().sum() / before.abs().sum()).item()
    print("changed", step, repr(change))
"""
FORGOTTEN = {"forward/0/weight", "forward/0/bias"}
LAST = "forward/2/weight"


@pytest.fixture
def script(tmp_path: Path) -> list[str]:
    file = tmp_path / "train.py"
    file.write_text(SCRIPT)
    return [sys.executable, str(file)]


def watch(debug_run: Any, script: list[str], break_on: str) -> Any:
    run = debug_run("--no-wait", "--break-on", break_on, "--on-hit", "continue", command=script)
    assert run.code == 0, run.stderr
    return run


def test_weights_that_no_optimizer_trains_are_found(debug_run, script) -> None:
    run = watch(debug_run, script, "weight_not_changed")
    hits = run.result["hits"]
    assert {hit["node"] for hit in hits} == FORGOTTEN
    # From the first step on, which is compared with the initial weights.
    for node in FORGOTTEN:
        assert [hit["step"] for hit in hits if hit["node"] == node] == list(range(1, 8))


def test_the_change_of_a_weight_is_relative_to_what_it_was(debug_run, script) -> None:
    run = watch(debug_run, script, "weight_change_too_large:abs_mean_update_ratio_gt=0.1")
    rows = [line.split() for line in run.stdout.splitlines() if line.startswith("changed")]
    changes = {int(step): float(change) for _, step, change in rows}
    hits = {hit["step"]: hit for hit in run.result["hits"] if hit["node"] == LAST}
    assert set(hits) == {step for step, change in changes.items() if change > 0.1}
    # The first change is a change from zero. Epsilon keeps it finite, and is too small to matter in step 5.
    assert changes[1] == float("inf")
    assert hits[5]["actual"]["abs_mean_update_ratio_gt"] == pytest.approx(changes[5], rel=1e-3)


def test_a_bad_start_is_found_before_the_first_step(server: Server, start_job, script) -> None:
    start_job(script, server.job_environment(GRAPHDBG_JOB="start"))
    server.wait_for_state("start", "paused")
    spec = {"condition": {"id": "weight_initialization", "params": {"zero_percentage_ge": 100}}, "patterns": ["**"]}
    server.client.post("/jobs/start/watchpoints", spec)
    server.control("start", "recheck")
    hits = wait_until("hits of the recheck", lambda: server.client.get("/jobs/start/hits")["hits"])
    assert [(hit["node"], hit["step"]) for hit in hits] == [(LAST, 0)]
