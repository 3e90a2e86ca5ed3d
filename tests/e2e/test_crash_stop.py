"""A job that an exception ends stops there, so that it can be looked at."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphdbg
import pytest
from conftest import GRAPHDBG, Server, clean_environment, wait_until
from graphdbg.client.errors import ConflictError

PYTHON = sys.executable

# In step 3 the batch does not fit the model.
CRASHES = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for width in (8, 8, 7):
    optimizer.zero_grad()
    batch = torch.ones(4, width) * 3
    model(batch).sum().backward()
    optimizer.step()
"""

CRASHES_AT_ONCE = CRASHES.replace("(8, 8, 7)", "(7, 8, 8)")

RAISES = CRASHES.replace("(8, 8, 7)", "(8, 8, 8)").replace(
    "    optimizer.step()", "    optimizer.step()\n    if optimizer.state_dict(): raise ValueError('no progress')"
)

# The error of the op is handled, and another one ends the program.
HANDLES = CRASHES.replace(
    "    model(batch).sum().backward()",
    """    try:
        model(batch).sum().backward()
    except RuntimeError:
        raise KeyError('batch') from None""",
)

SPAWNS = (
    "import torch.multiprocessing as mp\ndef work(rank):\n"
    + "".join(f"    {line}\n" for line in CRASHES.strip().splitlines())
    + "\nif __name__ == '__main__':\n    mp.spawn(work, nprocs=1)\n"
)

# In step 3 the batch of rank 1 does not fit, while rank 0 waits for its gradients.
TWO_RANKS = """
import os, sys, torch, torch.distributed as dist, torch.multiprocessing as mp
def work(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(1, 4):
        optimizer.zero_grad()
        model(torch.ones(4, 7 if (step, rank) == (3, 1) else 8)).sum().backward()
        optimizer.step()
if __name__ == "__main__":
    mp.spawn(work, (__file__ + ".store",), nprocs=2)
"""

IN_A_THREAD = (
    "import threading\ndef train():\n"
    + "".join(f"    {line}\n" for line in CRASHES.strip().splitlines())
    + "def load():\n    raise ValueError('no data')\n"
    + "for work in (load, train):\n    thread = threading.Thread(target=work)\n    thread.start()\n    thread.join()\n"
)


@pytest.fixture
def start(
    server: Server, start_job: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> Callable[..., subprocess.Popen[str]]:
    """Starts a script that trains without waiting."""

    def start(text: str, **environment: str) -> subprocess.Popen[str]:
        script = tmp_path / "train.py"
        script.write_text(text)
        variables = {"GRAPHDBG_WAIT": "0", "GRAPHDBG_JOB": "crash"} | environment
        return start_job([PYTHON, str(script)], server.job_environment(**variables))

    return start


def test_the_op_that_fails_and_its_inputs_can_be_looked_at(server: Server, start) -> None:
    process = start(CRASHES, GRAPHDBG_ON_ERROR="pause")
    job = server.wait_for_state("crash", "paused", pause_reason="error")
    assert (job["step"], job["node"]) == (3, "forward/0/addmm")
    exception = job["exception"]
    assert (exception["type"], exception["node"]) == ("RuntimeError", "forward/0/addmm")
    assert "shapes cannot be multiplied (4x7 and 8x8)" in exception["message"]
    assert "model(batch)" in exception["traceback"]
    node = server.client.get("/jobs/crash/graph/node?name=forward/0/addmm")
    assert {edge["node"] for edge in node["inputs"]} >= {"forward/0/bias"}
    tensors = server.client.get("/jobs/crash/tensor/statistics?name=forward/0/weight:0")
    assert tensors["statistics"]["count"] == 64
    with graphdbg.connect(server.addresses["http_address"], data_dir=server.data_dir) as client:
        crashed = client.job("crash")
        with pytest.raises(ConflictError, match="paused for an exception"):
            crashed.step()
    server.control("crash", "continue")
    job = server.wait_for_state("crash", "finished")
    assert (job["exit_code"], job["exception"]["node"]) == (1, "forward/0/addmm")
    assert process.wait(timeout=60) == 1


def test_the_inputs_of_an_op_that_fails_in_the_first_step_can_be_looked_at(server: Server, start) -> None:
    process = start(CRASHES_AT_ONCE, GRAPHDBG_ON_ERROR="pause")
    assert server.wait_for_state("crash", "paused", pause_reason="error")["node"] == "forward/0/addmm"
    node = server.client.get("/jobs/crash/graph/node?name=forward/0/addmm")
    assert {edge["node"] for edge in node["inputs"]} == {"forward/0/bias", "forward/input", "forward/0/t"}
    batch = server.client.get("/jobs/crash/tensor/statistics?name=forward/input:0")
    assert (batch["statistics"]["count"], batch["statistics"]["mean"]) == (28, 3)
    server.control("crash", "continue")
    assert process.wait(timeout=60) == 1


def test_a_job_that_nobody_looks_at_ends(server: Server, start) -> None:
    process = start(CRASHES)
    assert process.wait(timeout=120) == 1
    assert server.wait_for_state("crash", "finished")["exception"]["type"] == "RuntimeError"


def test_a_job_that_somebody_looks_at_stops(server: Server, start) -> None:
    with graphdbg.connect(server.addresses["http_address"], data_dir=server.data_dir) as client:
        process = start(CRASHES, GRAPHDBG_WAIT="1")
        job = client.job("crash", timeout=60)
        assert job.wait_for_stop().pause_reason == "start"
        job.continue_()
        assert job.wait_for_stop().pause_reason == "error"
        job.terminate()
    assert process.wait(timeout=60) == 1
    assert server.wait_for_state("crash", "terminated")


def test_the_owner_decides_that_it_ends(server: Server, start) -> None:
    assert start(CRASHES, GRAPHDBG_ON_ERROR="continue").wait(timeout=120) == 1


@pytest.mark.parametrize(("script", "name"), [(RAISES, "ValueError"), (HANDLES, "KeyError")])
def test_an_exception_of_the_programs_own_has_no_node(server: Server, start, script: str, name: str) -> None:
    process = start(script, GRAPHDBG_ON_ERROR="pause")
    job = server.wait_for_state("crash", "paused", pause_reason="error")
    assert (job["exception"]["type"], job["exception"]["node"], job["node"]) == (name, None, "")
    server.control("crash", "terminate")
    assert process.wait(timeout=60) == 1


def test_a_worker_of_multiprocessing_stops(server: Server, start) -> None:
    process = start(SPAWNS, GRAPHDBG_ON_ERROR="pause")
    assert server.wait_for_state("crash", "paused", pause_reason="error")["node"] == "forward/0/addmm"
    server.control("crash", "continue")
    assert process.wait(timeout=60) == 1


@pytest.mark.long
def test_one_rank_stops_while_the_other_waits_for_it(server: Server, start) -> None:
    process = start(TWO_RANKS, GRAPHDBG_ON_ERROR="pause")
    job = server.wait_for_state("crash", "paused", pause_reason="error")
    assert (job["step"], job["node"]) == (3, "forward/addmm")
    states = {rank["rank"]: rank["state"] for rank in job["ranks"]}
    assert states[1] == "paused" and states[0] in ("running", "pausing")
    weight = server.client.get("/jobs/crash/tensor/statistics?name=forward/weight:0&rank=1")
    assert weight["statistics"]["count"] == 16
    server.control("crash", "continue")
    assert process.wait(timeout=60) == 1
    # Rank 0 fails because its peer is gone, or multiprocessing ends it.
    job = wait_until("the job has ended", lambda: ended(server.job("crash")))
    assert (job["exit_code"], job["exception"]["node"]) == (1, "forward/addmm")


def ended(job: dict[str, Any] | None) -> dict[str, Any] | None:
    return job if job and job["state"] in ("finished", "terminated", "lost") else None


def test_the_fallback_adapter_knows_the_op(server: Server, start) -> None:
    process = start(CRASHES_AT_ONCE, GRAPHDBG_ON_ERROR="pause", GRAPHDBG_ADAPTER="python")
    assert server.wait_for_state("crash", "paused", pause_reason="error")["node"] == "forward/0/addmm"
    server.control("crash", "continue")
    assert process.wait(timeout=60) == 1


def test_interrupting_the_pause_ends_the_program(server: Server, start) -> None:
    process = start(CRASHES, GRAPHDBG_ON_ERROR="pause")
    server.wait_for_state("crash", "paused", pause_reason="error")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) != 0


def page_of(process: subprocess.Popen[str]) -> str:
    assert process.stderr
    for line in iter(process.stderr.readline, ""):
        if found := re.match(r"graphdbg: page: (\S+)", line):
            return found[1].partition("/#")[0]
    pytest.fail("no address of the page")


def test_the_page_stays_for_those_who_look_at_it(tmp_path: Path) -> None:
    script = tmp_path / "short.py"
    script.write_text(CRASHES.replace("8, 8, 7", "8, 8, 8"))
    process = subprocess.Popen(
        [GRAPHDBG, "run", "--", PYTHON, str(script)],
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with graphdbg.connect(page_of(process)) as client:
        job = client.job("short", timeout=60)
        job.wait_for_stop()
        job.continue_()
        assert job.wait_for_stop().state == "finished"
        assert process.stderr
        lines = iter(process.stderr.readline, "")
        assert any("the page stays" in line for line in lines)
        # The server still answers.
        assert job.refresh().state == "finished"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0


def test_a_run_ends_with_its_job_where_nobody_looks(debug_run, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(CRASHES)
    run = debug_run("--no-wait", command=[PYTHON, str(script)])
    assert run.result["exit_code"] == 1
    assert run.result["exception"]["node"] == "forward/0/addmm"
    assert "the page stays" not in run.stderr


def test_an_exception_that_ends_a_training_thread_is_a_stop(server: Server, start) -> None:
    process = start(IN_A_THREAD, GRAPHDBG_ON_ERROR="pause")
    # The exception of a thread that does not train is none.
    job = server.wait_for_state("crash", "paused", pause_reason="error")
    assert (job["step"], job["node"], job["exception"]["type"]) == (3, "forward/0/addmm", "RuntimeError")
    server.control("crash", "continue")
    assert process.wait(timeout=60) == 0
    errors = process.communicate()[1]
    assert "ValueError: no data" in errors
    assert "shapes cannot be multiplied" in errors
