"""The overview of a job, live and recorded: its modules over the steps."""

from __future__ import annotations

import math
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Json, Server, clean_environment, wait_until
from graphdbg.client import ApiError

# Waits for a file in each step from the fourth on. The third one's activation is not finite.
SCRIPT = """
import os, sys, time, torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 300), torch.nn.ReLU(), torch.nn.Linear(300, 100))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(1, 9):
    optimizer.zero_grad()
    x = torch.randn(64, 4)
    if step == 3:
        x[0] = float("inf")
    loss = torch.nn.functional.mse_loss(model(x).nan_to_num(0), torch.zeros(64, 100))
    loss.backward()
    if step == 3:
        optimizer.zero_grad()
        model[0].weight.grad = None
    optimizer.step()
    print(step, loss.item())
    time.sleep(0.3)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
"""
MODULES = ["0", "1", "2"]

# A product of large matrices takes much longer than everything else.
SLOW_SCRIPT = """
import os, sys, time, torch
torch.manual_seed(0)
torch.set_num_threads(1)
class Slow(torch.nn.Module):
    def forward(self, x):
        large = torch.ones(1500, 1500)
        return torch.relu(x + large.mm(large).mean())
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.slow, self.last = torch.nn.Linear(4, 8), Slow(), torch.nn.Linear(8, 2)
    def forward(self, x):
        return self.last(self.slow(self.first(x)))
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(4):
    optimizer.zero_grad()
    model(torch.randn(16, 4)).mean().backward()
    optimizer.step()
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
"""


def matrix(server: Server, path: str, measure: str) -> list[list[float]]:
    """One measure by step and module."""
    data = server.client.download(f"{path}/overview/values", measure=measure)
    numbers = struct.unpack(f"<{len(data) // 4}f", data)
    count = len(MODULES)
    return [list(numbers[i : i + count]) for i in range(0, len(numbers), count)]


@pytest.fixture
def script(tmp_path: Path) -> list[str]:
    (tmp_path / "train.py").write_text(SCRIPT)
    return [sys.executable, str(tmp_path / "train.py"), str(tmp_path / "end")]


def check(server: Server, path: str) -> Json:
    """Checks what does not depend on which part of a tensor is measured, nor on which steps are left out."""
    overview: Json = server.client.get(f"{path}/overview")
    assert overview["modules"] == MODULES
    assert overview["ranks"] == [0]
    steps = [each["step"] for each in overview["steps"]]
    assert steps[0] == 1 and steps == sorted(set(steps)) and steps[-1] <= 8
    assert all(each["mode"] == "train" and each["duration_ms"] > 0 for each in overview["steps"])
    assert all(each["loss"] > 0 for each in overview["steps"] if each["step"] != 3)

    def rows(measure: str) -> dict[int, list[float]]:
        return dict(zip(steps, matrix(server, path, measure), strict=True))

    for step, counts in rows("non_finite").items():
        assert counts[0] > 0 if step == 3 else counts == [0, 0, 0]
    activation, zeros = rows("activation")[1], rows("zeros")[1]
    assert all(0 < value < 10 for value in activation)
    # About half of the results of a ReLU are zero, and none of a linear layer's.
    assert 0.3 < zeros[1] < 0.7 and zeros[0] == 0
    gradient, update = rows("gradient")[1], rows("update")
    assert gradient[0] > 0 and math.isnan(gradient[1])
    # There is nothing to compare the first step with.
    assert math.isnan(update[1][0])
    assert all(0 < update[step][2] < 0.1 for step in steps[1:] if step != 3)
    return overview


def test_a_live_job_has_an_overview(server: Server, start_job: Any, script: list[str], tmp_path: Path) -> None:
    start_job(script, server.job_environment(GRAPHDBG_JOB="train", GRAPHDBG_WAIT="0"))
    path = "/jobs/train"
    # While it runs. On a busy machine, steps are left out.
    wait_until("a step", lambda: server.job("train") and server.client.get(f"{path}/overview")["steps"])
    (tmp_path / "end").touch()
    server.wait_for_state("train", "finished")
    # It outlives the job.
    overview = check(server, path)
    # Only what is new.
    last = overview["steps"][-1]["step"]
    later = server.client.get(f"{path}/overview", after=last - 1)
    assert [each["step"] for each in later["steps"]] == [last]
    assert sum(each["measuring_ms"] for each in overview["steps"]) > 0
    module = server.client.get(f"{path}/overview/module", module="1")
    low, *_, high = module["points"][0]["quantiles"]
    assert low == 0 < high <= module["points"][0]["max"]
    with pytest.raises(ApiError, match="no module 'nothing'"):
        server.client.get(f"{path}/overview/module", module="nothing")


def test_a_recorded_run_has_the_same_overview(script: list[str], tmp_path: Path) -> None:
    (tmp_path / "end").touch()
    environment = clean_environment(GRAPHDBG_RECORD=str(tmp_path / "runs"), GRAPHDBG_RECORD_OVERHEAD="0")
    subprocess.run(script, env=environment, check=True, timeout=120)
    (run,) = (tmp_path / "runs").iterdir()
    server = Server(tmp_path / "data", "--runs", str(tmp_path / "runs"))
    try:
        overview = check(server, f"/runs/{run.name}")
        assert len(overview["steps"]) == 8
        # The ops of one step were timed: of the first that had another before it.
        times = matrix(server, f"/runs/{run.name}", "time")
        assert [[not math.isnan(value) for value in row] for row in times] == [
            [step == 2] * len(MODULES) for step in range(1, 9)
        ]
        timed = server.client.get(f"/runs/{run.name}/overview/ops")
        assert timed["step"] == overview["steps"][1]["step"] and timed["steps"] == [timed["step"]]
        assert {op["node"].split("/")[0] for op in timed["ops"]} >= {"forward", "backward"}
        assert all(0 <= op["start_us"] + op["duration_us"] <= timed["duration_us"] for op in timed["ops"])
        with pytest.raises(ApiError, match="the ops of step 99 were not timed"):
            server.client.get(f"/runs/{run.name}/overview/ops", step=99)
    finally:
        server.stop()


def test_the_slowest_op_is_found(server: Server, start_job: Any, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SLOW_SCRIPT)
    (tmp_path / "end").touch()
    script = [sys.executable, str(tmp_path / "train.py"), str(tmp_path / "end")]
    start_job(script, server.job_environment(GRAPHDBG_JOB="train", GRAPHDBG_WAIT="0"))
    server.wait_for_state("train", "finished")
    path = "/jobs/train/overview"
    timed = server.client.get(f"{path}/ops")
    assert timed["steps"] and timed["step"] == timed["steps"][-1]
    assert timed["left_out"] == 0
    starts = [op["start_us"] for op in timed["ops"]]
    assert starts == sorted(starts)
    assert all(0 <= op["start_us"] + op["duration_us"] <= timed["duration_us"] for op in timed["ops"])
    phases = {op["node"].split("/")[0] for op in timed["ops"]}
    assert phases == {"forward", "backward", "optimizer"}
    slowest = max(timed["ops"], key=lambda op: op["duration_us"])
    assert slowest["node"] == "forward/slow/mm" and slowest["op_type"] == "aten::mm"
    # On a CPU, the backward pass runs on the thread that calls it.
    assert {op["thread"] for op in timed["ops"]} == {0}

    overview = server.client.get(path)
    assert overview["modules"] == ["first", "slow", "last"]
    row = [each["step"] for each in overview["steps"]].index(timed["step"])
    first, slow, last = matrix(server, "/jobs/train", "time")[row]
    assert slow >= slowest["duration_us"] / 1000 and slow > first > 0 and slow > last > 0
    assert server.client.get(f"{path}/ops", step=timed["step"]) == timed
    with pytest.raises(ApiError, match="the ops of step 99 were not timed"):
        server.client.get(f"{path}/ops", step=99)


def test_it_can_be_switched_off(server: Server, start_job: Any, script: list[str], tmp_path: Path) -> None:
    (tmp_path / "end").touch()
    start_job(script, server.job_environment(GRAPHDBG_JOB="train", GRAPHDBG_WAIT="0", GRAPHDBG_OVERVIEW="0"))
    server.wait_for_state("train", "finished")
    assert server.client.get("/jobs/train/overview")["steps"] == []
    assert server.client.get("/jobs/train/overview/ops")["steps"] == []
