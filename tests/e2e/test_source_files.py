"""The source files of a job: whole, as they were when the job read them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Server, clean_environment
from graphdbg.client import ApiError

MODEL = """import torch

# A comment, which no op refers to.
class Net(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1
"""
SCRIPT = """import torch
from net import Net

for _ in range(3):
    Net()(torch.ones(2, requires_grad=True)).sum().backward()
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "net.py").write_text(MODEL)
    (tmp_path / "train.py").write_text(SCRIPT)
    return tmp_path / "train.py"


def test_a_jobs_files_are_there_whole_and_after_its_end(server: Server, start_job, script: Path) -> None:
    job = start_job([sys.executable, str(script)], server.job_environment(GRAPHDBG_JOB="j", GRAPHDBG_STEP_ON="forward"))
    server.wait_for_state("j", "paused")
    server.control("j", "continue")
    assert job.wait(timeout=60) == 0
    server.wait_for_state("j", "finished")
    script.write_text("changed")
    model = script.with_name("net.py")
    for file, text in ((script, SCRIPT), (model, MODEL)):
        answer = server.client.get("/jobs/j/graph/source", file=str(file))
        assert answer == {"file": str(file), "text": text}
    with pytest.raises(ApiError) as refused:
        server.client.get("/jobs/j/graph/source", file="/etc/passwd")
    assert refused.value.code == "unknown_file"


def test_a_job_that_is_not_to_send_them_sends_lines_only(server: Server, start_job, script: Path) -> None:
    variables = {"GRAPHDBG_JOB": "j", "GRAPHDBG_WAIT": "0", "GRAPHDBG_SOURCE_FILES": "0"}
    assert start_job([sys.executable, str(script)], server.job_environment(**variables)).wait(timeout=60) == 0
    server.wait_for_state("j", "finished")
    (line, *_) = server.client.get("/jobs/j/graph/search", op_type="aten::relu")["nodes"]
    assert line["source"]["text"] == "return torch.relu(x) + 1"
    with pytest.raises(ApiError, match="has sent no file"):
        server.client.get("/jobs/j/graph/source", file=str(script))


def test_a_recorded_run_has_them(script: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    subprocess.run([sys.executable, str(script)], env=clean_environment(GRAPHDBG_RECORD=str(runs)), check=True)
    (run,) = runs.iterdir()
    script.unlink()
    server = Server(tmp_path / "data", "--runs", str(runs))
    try:
        answer = server.client.get(f"/runs/{run.name}/graph/source", file=str(script))
        assert answer == {"file": str(script), "text": SCRIPT}
    finally:
        server.stop()


def test_a_restarted_server_has_them(tmp_path: Path, start_job, script: Path) -> None:
    for life in ("first", "second"):
        server = Server(tmp_path / "data")
        try:
            if life == "first":
                variables = server.job_environment(GRAPHDBG_JOB="j", GRAPHDBG_WAIT="0")
                assert start_job([sys.executable, str(script)], variables).wait(timeout=60) == 0
                server.wait_for_state("j", "finished")
            assert server.client.get("/jobs/j/graph/source", file=str(script))["text"] == SCRIPT
        finally:
            server.stop()
