"""Unmodified C++ programs with LibTorch: tests/hosts/cpp/trainer.cc."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import HOSTS, PRELOAD, Server, clean_environment

SOURCE = HOSTS / "cpp" / "trainer.cc"
BUILT = HOSTS.parents[1] / "bazel-bin" / "tests" / "hosts" / "cpp"
# Built with the PyTorch of this environment and with the system's, if they are
# PyTorch 2. C++ programs with PyTorch 1.x are not debugged.
TRAINERS = sorted(BUILT.glob("trainer-2.*[0-9]"), reverse=True)
TRAINER = str(TRAINERS[0]) if TRAINERS else ""

pytestmark = pytest.mark.skipif(not TRAINERS, reason="bazel build //tests/hosts/cpp/...")


def line_with(text: str) -> int:
    lines = [n for n, line in enumerate(SOURCE.read_text().splitlines(), 1) if text in line]
    assert len(lines) == 1
    return lines[0]


@pytest.mark.parametrize("trainer", TRAINERS, ids=lambda trainer: trainer.name)
def test_losses_are_the_same_to_the_bit(debug_run, trainer: Path) -> None:
    command = [str(trainer), "--optimizer", "adam", "--steps", "6"]
    plain = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, check=True)
    run = debug_run("--no-wait", "--break-on", "nan,inf", "--on-hit", "continue", command=command)
    assert run.stdout == plain.stdout
    assert len(re.findall("loss", run.stdout)) == 6
    assert (run.code, run.result["status"], run.result["steps"]) == (0, "finished", 6)
    assert run.result["hits"] == []


@pytest.mark.parametrize("trainer", TRAINERS, ids=lambda trainer: trainer.name)
def test_stops_at_the_first_bad_value(debug_run, trainer: Path) -> None:
    options = ("--no-wait", "--break-on", "nan", "--on-hit", "terminate")
    run = debug_run(*options, command=[str(trainer), "--steps", "9", "--nan-at", "3"])
    hit = run.result["hits"][0]
    assert (hit["node"], hit["op_type"], hit["origin"]) == ("forward/sqrt", "aten::sqrt", "origin")
    assert hit["source"]["file"].endswith("tests/hosts/cpp/trainer.cc")
    assert hit["source"]["line"] == line_with("// bad root")
    assert hit["step"] == 3
    assert (run.code, run.result["status"], run.result["steps"]) == (143, "terminated", 2)
    assert "step 2" in run.stdout and "step 3" not in run.stdout


def test_an_exception_that_nobody_catches_is_reported(debug_run) -> None:
    run = debug_run("--no-wait", command=[TRAINER, "--throw-at", "3"])
    assert (run.code, run.result["status"], run.result["steps"]) == (134, "failed", 2)
    assert run.result["exception"]["type"] == "std::runtime_error"
    assert run.result["exception"]["message"] == "out of data"


def test_an_exception_that_nobody_catches_pauses_the_program(server: Server, start_job) -> None:
    environment = server.job_environment(GRAPHDBG_JOB="cpp", GRAPHDBG_WAIT="0", LD_PRELOAD=PRELOAD)
    job = start_job([TRAINER, "--throw-at", "3"], {**environment, "GRAPHDBG_ON_ERROR": "pause"})
    paused = server.wait_for_state("cpp", "paused", pause_reason="error")
    assert (paused["step"], paused["exception"]["type"]) == (3, "std::runtime_error")
    traceback = paused["exception"]["traceback"].splitlines()
    assert traceback[-1] == "std::runtime_error: out of data"
    assert f'trainer.cc", line {line_with("out of data")}, in ' in traceback[-2]
    weight = server.client.get("/jobs/cpp/tensor", name="forward/hidden/weight:0")
    assert weight["shape"] == [16, 2]
    server.control("cpp", "continue")
    server.wait_for_state("cpp", "finished")
    assert job.wait(timeout=60) == -signal.SIGABRT


def test_without_training_a_step_is_a_call_of_the_model(debug_run) -> None:
    run = debug_run("--no-wait", command=[TRAINER, "--steps", "0", "--predict", "4"])
    assert (run.code, run.result["steps"]) == (0, 4), run.stderr


def test_a_program_that_a_script_starts_is_debugged(debug_run) -> None:
    run = debug_run("--no-wait", command=["sh", "-c", f"echo first; {TRAINER} --steps 2; exit 3"])
    assert run.stdout.startswith("first\nstep 1")
    assert (run.code, run.result["steps"]) == (3, 2)


def test_stop_look_step_and_end(server: Server, start_job) -> None:
    environment = server.job_environment(GRAPHDBG_JOB="cpp", LD_PRELOAD=PRELOAD)
    job = start_job([TRAINER, "--steps", "1000000"], environment)
    server.wait_for_state("cpp", "paused", pause_reason="start", step=0)
    nodes = server.client.get("/jobs/cpp/graph/scope", name="forward")["nodes"]
    assert {"hidden", "output"} <= {node["label"] for node in nodes}
    before = server.client.get("/jobs/cpp/tensor", name="forward/hidden/weight:0")
    assert before["shape"] == [16, 2]

    server.control("cpp", "step", steps=2)
    server.wait_for_state("cpp", "paused", pause_reason="step", step=2)
    assert server.client.get("/jobs/cpp/tensor", name="forward/hidden/weight:0")["data"] != before["data"]
    server.control("cpp", "continue_to", node="forward/output/addmm")
    server.wait_for_state("cpp", "paused", node="forward/output/addmm")
    logits = server.client.get("/jobs/cpp/tensor", name="forward/output/addmm:0")
    assert logits["shape"] == [32, 2]
    node = server.client.get("/jobs/cpp/graph/node", name="backward/hidden/mm")
    assert node["source"]["line"] == line_with("output(torch::relu(hidden(x)))")

    condition = {"id": "nan", "params": {}}
    watchpoint = server.client.post("/jobs/cpp/watchpoints", {"condition": condition, "scopes": ["optimizer"]})
    server.control("cpp", "step")
    server.wait_for_state("cpp", "paused", pause_reason="step", step=3)
    found = server.client.get(f"/jobs/cpp/watchpoints/{watchpoint['id']}")
    assert found["condition"]["id"] == "nan"

    server.control("cpp", "terminate")
    job.communicate(timeout=60)
    assert job.returncode == 143
    server.wait_for_state("cpp", "terminated")
