"""The Python client, and the examples of agent/docs/python-api.md."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import graphdbg
import pytest
from conftest import Server, clean_environment
from graphdbg.client import (
    AccessDeniedError,
    ConflictError,
    InvalidRequestError,
    NoServerError,
    NotFoundError,
    UnreachableError,
    ValueGoneError,
    WaitTimeoutError,
)

pytest.importorskip("websockets")

PAGE = Path(__file__).resolve().parents[2] / "agent" / "docs" / "python-api.md"
SECONDS = 120

TRAIN = """
import torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(1, 6):
    loss = (model(torch.randn(8, 4)) / (step != 3)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def blocks(text: str) -> dict[str, str]:
    """The Python code of a page: files by name, and all other blocks together under ""."""
    found: dict[str, str] = {"": ""}
    for name, code in re.findall(r"^```python(?: file=(\S+))?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        found[name] = found.get(name, "") + code
    return found


def test_the_examples_of_the_page_work(tmp_path, start_job):
    # The examples call connect() without a url.
    server = Server(tmp_path / "graphdbg")
    try:
        examples = blocks(PAGE.read_text())
        assert len(examples) == 2 and "run_local" in examples[""]
        (tmp_path / "train.py").write_text(examples["train.py"])
        (tmp_path / "examples.py").write_text(examples[""])
        start_job([sys.executable, str(tmp_path / "train.py")], server.job_environment(GRAPHDBG_JOB="train"))
        ran = subprocess.run(
            [sys.executable, str(tmp_path / "examples.py")],
            env=clean_environment(XDG_DATA_HOME=str(tmp_path), XDG_STATE_HOME=str(tmp_path / "state")),
            capture_output=True,
            text=True,
            timeout=400,
        )
        assert ran.returncode == 0, ran.stderr
    finally:
        server.stop()


@pytest.fixture
def script(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(TRAIN)
    return file


@pytest.fixture
def client(server):
    with graphdbg.connect(server.client.address, data_dir=server.data_dir) as client:
        yield client


@pytest.fixture
def job(client, server, script, start_job):
    start_job([sys.executable, str(script)], server.job_environment(GRAPHDBG_JOB="train"))
    job = client.job("train", timeout=SECONDS)
    assert job.wait_for_stop(SECONDS).pause_reason == "start"
    return job


def test_a_wait_after_a_command_ends_with_the_stop_that_follows_it(job):
    for step in (1, 2):
        job.step()
        # Without regard to the command, the pause before it would be returned.
        assert job.wait_for_stop(SECONDS).step == step
    assert job.wait_for_stop(SECONDS).step == 2


def test_a_wait_sees_commands_of_others(job, client):
    other = client.job("train")
    other.step()
    job.wait_for_resume(SECONDS)
    assert job.wait_for_stop(SECONDS).step == 1


def test_a_recheck_returns_the_hits_that_it_has_found(job):
    job.step(2)
    job.wait_for_stop(SECONDS)
    watchpoint = job.watch("abs_max > 0", nodes=["forward/weight"])
    (hit,) = job.check_watchpoints()
    assert (hit.watchpoint, hit.node, hit.step) == (watchpoint.id, "forward/weight", 2)
    assert job.watchpoints()[0].hit_count == 1
    assert job.change_watchpoint(watchpoint, enabled=False).enabled is False


def test_a_finished_job_is_a_stop(job):
    job.continue_()
    stop = job.wait_for_stop(SECONDS)
    assert (stop.state, stop.exit_code, stop.step) == ("finished", 0, 5)
    assert job.wait_for_stop(SECONDS).has_ended


def test_a_terminated_job_says_so(job):
    job.terminate()
    assert job.wait_for_stop(SECONDS).state == "terminated"


def test_errors_say_what_is_wrong(job, client, server):
    with pytest.raises(NotFoundError) as caught:
        client.job("nobody")
    assert (caught.value.code, caught.value.status) == ("unknown_job", 404)
    with pytest.raises(NotFoundError) as caught:
        job.run_to("forward/nothing")
    assert caught.value.code == "unknown_node"
    with pytest.raises(InvalidRequestError) as caught:
        job.watch("no_such_condition")
    assert "no_such_condition" in str(caught.value)
    with pytest.raises(InvalidRequestError):
        job.watch("abs_max > > 3")
    with pytest.raises(ConflictError) as caught:
        job.pause()
    assert caught.value.code == "invalid_state"
    job.step()
    job.wait_for_stop(SECONDS)
    with pytest.raises(ValueGoneError) as caught:
        job.tensor("forward/div", step="previous")
    assert caught.value.code == "value_gone"
    with pytest.raises(AccessDeniedError):
        graphdbg.connect(server.client.address, "wrong")


def test_a_wait_has_a_limit(job, client):
    job.step()
    job.wait_for_stop(SECONDS)
    job.info = job.refresh()
    with pytest.raises(WaitTimeoutError):
        job.wait_for_resume(0.01)
    with pytest.raises(WaitTimeoutError):
        client.job("nobody", timeout=0.01)


def test_a_server_that_ends_is_an_error(job, server):
    # Not a stop: the job may still run.
    server.stop()
    with pytest.raises(UnreachableError):
        job.wait_for_resume(SECONDS)


def test_without_a_server_connect_says_how_to_start_one(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(NoServerError, match="graphdbg start"):
        graphdbg.connect()


def test_an_import_of_the_client_imports_neither_numpy_nor_torch():
    code = "import graphdbg, sys; graphdbg.connect; print({'numpy', 'torch', 'websockets'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"
