"""A paused job is changed: values of tensors, learning rates, and steps that are skipped or taken back."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphdbg
import pytest
from conftest import HOSTS, Server, wait_until
from graphdbg.client import AccessDeniedError, ApiError, ConflictError
from graphdbg.client.jobs import Job

SCRIPT = HOSTS / "underflow.py"
WEIGHT = "forward/2/weight:0"


@pytest.fixture
def start(server: Server, start_job: Any, tmp_path: Path) -> Callable[..., Job]:
    """Starts the job and has it stop at the end of its first step."""

    def run(**environment: str) -> Job:
        command = [sys.executable, str(SCRIPT), str(tmp_path / "losses")]
        start_job(command, server.job_environment(GRAPHDBG_JOB="train", **environment))
        server.wait_for_state("train", "paused")
        job = graphdbg.connect(server.addresses["http_address"], data_dir=server.data_dir).job("train")
        step(job)
        return job

    return run


def step(job: Job) -> None:
    job.step()
    job.wait_for_stop()


def values(job: Job, name: str = WEIGHT) -> list[float]:
    return [float(each) for each in job.tensor(name).ravel()]


def finish(job: Job) -> None:
    job.continue_()
    wait_until("the job ends", lambda: job.refresh().state == "finished")


def test_a_slice_of_a_weight_is_written(start: Callable[..., Job], server: Server) -> None:
    job = start()
    (text,) = job.set_values(WEIGHT, 0.5, slice="[1,:]")
    assert re.fullmatch(rf"{WEIGHT} \[1,:\]: 16 elements, -0\.\d+ to 0\.\d+ \(mean \S+\) -> 0\.5", text)
    assert list(job.tensor(WEIGHT, slice="[1,:]")) == [0.5] * 16
    assert 0.5 not in list(job.tensor(WEIGHT, slice="[0,:]"))
    job.set_values(WEIGHT, [1, 2, 3], slice="[0,0:6:2]")
    assert list(job.tensor(WEIGHT, slice="[0,0:6:2]")) == [1, 2, 3]
    with pytest.raises(ConflictError, match="16 elements, and there are 2 values"):
        job.set_values(WEIGHT, [1, 2], slice="[1,:]")
    # The training goes on with it.
    step(job)
    assert all(abs(each - 0.5) < 0.1 for each in job.tensor(WEIGHT, slice="[1,:]"))
    entries = server.client.get("/audit")["entries"]
    assert any(each["action"] == "change" and WEIGHT in each["detail"] for each in entries)
    finish(job)


def test_a_learning_rate_of_zero_keeps_the_weights(start: Callable[..., Job]) -> None:
    job = start()
    assert job.set_learning_rate(0) == ["learning rate 0.01 -> 0"]
    before = values(job)
    step(job)
    assert values(job) == before
    job.set_learning_rate(0.1, optimizer=0, group=0)
    step(job)
    assert values(job) != before
    with pytest.raises(ConflictError, match="0: AdamW, 1 groups"):
        job.set_learning_rate(0.1, optimizer=3)
    finish(job)


def test_a_recording_has_what_was_changed(start: Callable[..., Job], tmp_path: Path) -> None:
    job = start(GRAPHDBG_RECORD=str(tmp_path / "runs"))
    job.set_learning_rate(0)
    step(job)
    job.set_values(WEIGHT, 3, slice="[0,0]")
    finish(job)
    run = graphdbg.open_run(tmp_path / "runs" / "train")
    rate, value = run.user_changes()
    assert (rate.step, rate.by, rate.text, rate.tensor) == (1, "owner", "learning rate 0.01 -> 0", None)
    assert value.step == 2 and value.tensor == WEIGHT
    assert re.fullmatch(rf"{WEIGHT} \[0,0\]: 1 element, \S+ -> 3", value.text)
    served = Server(tmp_path / "served", f"--runs={tmp_path / 'runs'}")
    changes = served.client.get("/runs/train")["user_changes"]
    served.stop()
    assert [(each["step"], each["by"], each["text"]) for each in changes] == [
        (each.step, each.by, each.text) for each in (rate, value)
    ]


def test_a_step_is_skipped(start: Callable[..., Job]) -> None:
    job = start()
    job.skip_step()
    before = values(job)
    step(job)
    assert values(job) == before
    step(job)
    assert values(job) != before
    finish(job)


def test_a_step_is_taken_back(start: Callable[..., Job], tmp_path: Path) -> None:
    settings = tmp_path / "job.yaml"
    settings.write_text("capture: {tape: whole_step}\n")
    job = start(GRAPHDBG_CONFIG=str(settings))
    step(job)
    before = values(job)
    step(job)
    assert values(job) != before
    (text,) = job.restore_step()
    assert "before this step" in text
    assert values(job) == before
    finish(job)


def test_nothing_is_taken_back_without_copies(start: Callable[..., Job]) -> None:
    job = start()
    with pytest.raises(ConflictError, match="whole_step"):
        job.restore_step()
    finish(job)


def test_it_takes_an_administrator_and_the_owner_of_the_job(start: Callable[..., Job], server: Server) -> None:
    job = start(GRAPHDBG_ALLOW="view,control")
    with pytest.raises(ApiError) as error:
        job.set_learning_rate(0.1)
    assert error.value.code == "not_allowed_by_job"
    token = server.client.post("/tokens", {"name": "alice", "role": "control"})["token"]
    with pytest.raises(AccessDeniedError):
        graphdbg.connect(server.addresses["http_address"], token).job("train").skip_step()
    finish(job)
