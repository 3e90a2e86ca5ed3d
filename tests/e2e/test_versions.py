"""Control of a job with each supported PyTorch and each adapter."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import SYSTEM_PYTHON, Server

SCRIPT = """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
try:
    for step in range(1000000):
        optimizer.zero_grad()
        loss = net(torch.ones(2, 4)).pow(2).sum()
        loss.backward()
        optimizer.step()
finally:
    print("finally")
"""

VARIANTS = [
    pytest.param(SYSTEM_PYTHON, {}, id="oldest", marks=pytest.mark.oldest_torch),
    pytest.param(
        SYSTEM_PYTHON, {"GRAPHDBG_ADAPTER": "python"}, id="oldest-from-python", marks=pytest.mark.oldest_torch
    ),
    pytest.param(sys.executable, {"GRAPHDBG_ADAPTER": "python"}, id="newest-from-python"),
]


@pytest.mark.parametrize(("python", "variables"), VARIANTS)
def test_stop_look_step_and_end(
    server: Server, start_job, injected, tmp_path: Path, python: str, variables: dict[str, str]
) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    job = start_job([python, str(script)], server.job_environment(GRAPHDBG_JOB="job", **injected, **variables))
    server.wait_for_state("job", "paused", pause_reason="start", step=0)
    weight = server.client.get("/jobs/job/tensor", name="forward/0/weight:0")
    assert weight["shape"] == [3, 4]

    server.control("job", "step", steps=2)
    server.wait_for_state("job", "paused", step=2, pause_reason="step")
    after = server.client.get("/jobs/job/tensor", name="forward/0/weight:0")
    assert after["data"] != weight["data"]

    server.control("job", "continue_to", node="forward/2/addmm")
    server.wait_for_state("job", "paused", node="forward/2/addmm")
    assert server.client.get("/jobs/job/tensor", name="forward/2/addmm:0")["shape"] == [2, 2]
    server.control("job", "next_node")
    state = server.wait_for_state("job", "paused", node="forward/pow")
    assert state["step"] == 3

    server.client.post("/jobs/job/watchpoints", {"condition": {"id": "nan", "params": {}}, "scopes": ["forward"]})
    server.control("job", "terminate")
    out, errors = job.communicate(timeout=60)
    assert (job.returncode, out) == (143, "finally\n"), errors
    server.wait_for_state("job", "terminated")
