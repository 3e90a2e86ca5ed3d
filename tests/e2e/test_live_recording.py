"""The recording of real PyTorch jobs that is switched on and off while they run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import graphdbg
import pytest
from conftest import GRAPHDBG, Server, clean_environment, wait_until
from graphdbg.client import ApiError, Job

# Takes a step each few milliseconds until it is asked to end.
SCRIPT = """
import os, sys, time, torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
while not os.path.exists(sys.argv[1]):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(torch.randn(8, 4)), torch.zeros(8, 1)).backward()
    optimizer.step()
    time.sleep(0.005)
"""


@pytest.fixture
def job(server: Server, tmp_path: Path, start_job: Any) -> Job:
    return started(server, tmp_path, start_job)


def started(server: Server, tmp_path: Path, start_job: Any, **variables: str) -> Job:
    (tmp_path / "train.py").write_text(SCRIPT)
    command = [sys.executable, str(tmp_path / "train.py"), str(tmp_path / "end")]
    start_job(command, server.job_environment(GRAPHDBG_JOB="train", GRAPHDBG_WAIT="0", **variables))
    server.wait_for_state("train", "running")
    return graphdbg.connect(server.addresses["http_address"], data_dir=server.data_dir).job("train")


def state(job: Job) -> str:
    return job.recording()[0].state


def record_some_steps(job: Job, to: Path | None = None, **settings: Any) -> Path:
    """Records until there are a few steps, ends that, and returns the run."""
    job.record(None if to is None else str(to), **settings)
    (rank,) = wait_until("steps are recorded", lambda: [each for each in job.recording() if each.steps >= 5])
    assert rank.state == "on" and rank.supported and rank.bytes > 0
    assert rank.directory is not None
    job.record(on=False)
    wait_until("the recording ends", lambda: state(job) == "off")
    return Path(rank.directory)


def test_a_job_is_recorded_on_demand_twice(job: Job, tmp_path: Path) -> None:
    wait_until("steps", lambda: job.refresh().step > 20)
    assert state(job) == "off"
    runs = [record_some_steps(job, tmp_path / "runs") for _ in range(2)]
    assert [each.name for each in runs] == ["train", "train.2"]
    first, second = (graphdbg.open_run(each) for each in runs)
    assert first.ended == second.ended == "closed"
    assert second.info["resumes"] == "train"
    assert min(first.steps()) > 20 and min(second.steps()) > max(first.steps())
    for run in (first, second):
        steps = run.steps()
        assert steps == list(range(steps[0], steps[-1] + 1))
        assert not run.damages
        # All that is recorded from the beginning of a job is recorded here, in the first step, too.
        assert "forward/0/weight:0" in run.tensors(step=steps[0])
        selected = run.collections()
        assert selected["losses"].tensors and selected["layers"].tensors and selected["gradients"].tensors
        # Later steps have the same, unless the job had spent its share of time on recording.
        reasons = {row["step"]: row["reason"] for row in run.table("steps").to_pylist()}
        everything = set(run.tensors(step=steps[0]))
        for step in steps[:-1]:
            assert set(run.tensors(step=step)) == (set() if reasons[step] == "overhead" else everything)
        assert run.graph().node("forward/0/weight").kind == "parameter"
    job.refresh()
    assert job.state == "running"


def test_other_settings_begin_a_new_run(job: Job, tmp_path: Path) -> None:
    wait_until("steps", lambda: job.refresh().step > 2)
    job.record(str(tmp_path / "runs"), collections=["weights"])
    wait_until("steps are recorded", lambda: job.recording()[0].steps >= 3)
    job.record(level="light", collections=["all"])
    wait_until("the second run", lambda: (job.recording()[0].directory or "").endswith("runs/train") is False)
    job.record(on=False)
    wait_until("the recording ends", lambda: state(job) == "off")
    weights = graphdbg.open_run(tmp_path / "runs" / "train")
    assert weights.tensors() == ["forward/0/weight:0", "forward/2/weight:0"]


def test_a_directory_that_cannot_be_written_is_an_error_and_training_continues(job: Job, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(ApiError, match=r"rank 0: nothing is recorded: .*file") as error:
        job.record(str(blocked / "runs"))
    assert error.value.code == "recording_failed"
    with pytest.raises(ApiError, match="level: expected") as error:
        job.record(str(tmp_path / "runs"), level="much")
    assert state(job) == "off"
    before = job.refresh().step
    wait_until("the job continues", lambda: job.refresh().step > before + 5)


def test_the_owner_of_a_job_may_refuse(server: Server, tmp_path: Path, start_job: Any) -> None:
    job = started(server, tmp_path, start_job, GRAPHDBG_ALLOW="view,control")
    with pytest.raises(ApiError) as error:
        job.record(str(tmp_path / "runs"))
    assert error.value.code == "not_allowed_by_job"


def test_the_job_ends_while_it_is_recorded(job: Job, tmp_path: Path) -> None:
    job.record(str(tmp_path / "runs"))
    wait_until("steps are recorded", lambda: job.recording()[0].steps >= 3)
    (tmp_path / "end").write_text("")
    wait_until("the job ends", lambda: job.refresh().state == "finished")
    run = graphdbg.open_run(tmp_path / "runs" / "train")
    assert run.ended == "exit" and len(run.steps()) >= 3


def test_the_command_switches_a_job(server: Server, job: Job, tmp_path: Path) -> None:
    def record(*options: str) -> subprocess.CompletedProcess[str]:
        command = [GRAPHDBG, "record", "train", "--server", server.addresses["http_address"]]
        command += ["--data-dir", str(server.data_dir), *options]
        return subprocess.run(command, capture_output=True, text=True, env=clean_environment())

    started_recording = record("--to", str(tmp_path / "runs"), "--json")
    assert started_recording.returncode == 0, started_recording.stderr
    assert json.loads(started_recording.stdout)["ranks"][0]["state"] in ("starting", "on")
    wait_until("steps are recorded", lambda: job.recording()[0].steps >= 3)
    status = record("--status")
    assert status.stdout.startswith("rank 0: on, ") and os.path.join("runs", "train") in status.stdout
    assert record("--off").returncode == 0
    wait_until("the recording ends", lambda: state(job) == "off")
    assert record("--off", "--level", "light").returncode == 2
