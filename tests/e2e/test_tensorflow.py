"""Programs of TensorFlow and Keras are debugged unchanged, to the bit, down to the op and the user's line."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import HOSTS, PACKAGE, Json, Server, clean_environment, losses, marked_line, wait_until
from environments import python_with

SCRIPTS = HOSTS / "tensorflow"
RELU = "forward/sequential/hidden/Relu"
KERNEL = "forward/sequential/hidden/kernel"
BAD = SCRIPTS / "bad_values.py"
# One thread each for ops and within them: the order of sums is the same in all runs.
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
SINGLE = QUIET | {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"}
WATCH = ("--no-wait", "--break-on", "nan,inf", "--on-hit", "continue")
STOP = ("--no-wait", "--break-on", "nan,inf", "--on-hit", "terminate")
SECONDS = 300

TRAININGS = (
    "dense",
    "convolutions",
    "attention",
    "several_steps_per_call",
    "accumulated",
    "eager",
    "own_function",
    "control_flow",
    "mixed_precision",
)


@pytest.fixture(scope="session")
def python() -> str:
    """The interpreter for whose TensorFlow the adapter has been compiled, so that no test waits for that."""
    python = str(python_with("tensorflow"))
    compile_adapter = "import tensorflow; from graphdbg._tensorflow import native; native.load(tensorflow)"
    subprocess.run([python, "-c", compile_adapter], env=clean_environment(**QUIET), check=True, timeout=SECONDS)
    return python


def trained(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.split(" ")[0] in (*TRAININGS, "compiled")]


def plain(python: str, *names: str) -> list[str]:
    command = [python, str(SCRIPTS / "trainings.py"), *names]
    done = subprocess.run(command, env=clean_environment(**SINGLE), capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return trained(done.stdout)


@pytest.mark.parametrize(
    ("names", "steps"),
    [
        (("dense", "eager"), 8 + 4),
        # Calls that update no optimizer are no steps in a program that has one: those of control_flow.
        pytest.param(TRAININGS, 6 * 8 + 2 * 4, marks=pytest.mark.frameworks),
    ],
)
def test_losses_and_weights_are_the_same_to_the_bit(debug_run, python: str, names: tuple[str, ...], steps: int) -> None:
    command = [python, str(SCRIPTS / "trainings.py"), *names]
    run = debug_run(*WATCH, command=command, **SINGLE)
    assert run.code == 0, run.stderr
    assert trained(run.stdout) == plain(python, *names)
    assert run.result["steps"] == steps


@pytest.mark.frameworks
def test_functions_compiled_by_xla_are_looked_into_only_while_watched(debug_run, python: str) -> None:
    command = [python, str(SCRIPTS / "trainings.py"), "compiled"]
    expected = plain(python, "compiled")
    kept = debug_run("--no-wait", command=command, GRAPHDBG_COMPILED="keep", **SINGLE)
    assert trained(kept.stdout) == expected, kept.stderr
    watched = debug_run(*WATCH, command=command, **SINGLE)
    assert "without XLA" in watched.stderr
    assert watched.result["steps"] == 4
    exact = [float.fromhex(word) for word in expected[0].split()[1:-1]]
    assert [float.fromhex(word) for word in trained(watched.stdout)[0].split()[1:-1]] == pytest.approx(exact, rel=1e-4)


@pytest.mark.parametrize(
    ("case", "node", "op_type"),
    [
        ("layer", "forward/net/Sqrt", "Sqrt"),
        ("eager", "forward/Sqrt", "Sqrt"),
        pytest.param("loop", "forward/net/while/Log", "Log", marks=pytest.mark.frameworks),
        pytest.param("overflow", "forward/net/Cast_1", "Cast", marks=pytest.mark.frameworks),
        pytest.param("gradient", "backward/Sqrt", "Sqrt", marks=pytest.mark.frameworks),
    ],
)
def test_training_ends_at_the_op_and_the_line(debug_run, python: str, case: str, node: str, op_type: str) -> None:
    run = debug_run(*STOP, command=[python, str(BAD), case], **QUIET)
    assert run.code == 143, run.stderr
    assert run.result["status"] == "terminated"
    hit: Json = run.result["hits"][0]
    assert (hit["node"], hit["op_type"], hit["origin"]) == (node, op_type, "origin")
    assert hit["step"] == 3
    assert hit["source"]["file"] == str(BAD)
    assert hit["source"]["line"] == marked_line(BAD, f"# {case}")


def start(server: Server, start_job, python: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    # The environment has the package, but not the file by which Python loads it at the start.
    paths = os.pathsep.join(filter(None, (str(PACKAGE / "_inject"), os.environ.get("PYTHONPATH"))))
    variables = server.job_environment(GRAPHDBG_JOB="paused", PYTHONPATH=paths, **QUIET, **environment)
    process: subprocess.Popen[str] = start_job([python, str(SCRIPTS / "paused.py"), *arguments], variables)
    # The adapter may have to be compiled first.
    wait_until("the job waits", lambda: (server.job("paused") or {}).get("state") == "paused", SECONDS)
    # The graph is known once the function has been called.
    server.control("paused", "step", steps=1)
    server.wait_for_state("paused", "paused", pause_reason="step", step=1)
    return process


def stop_inside(server: Server) -> None:
    server.control("paused", "continue_to", node=RELU)
    server.wait_for_state("paused", "paused", pause_reason="node", node=RELU)


@pytest.mark.parametrize("threads", ["2", pytest.param("1", marks=pytest.mark.frameworks)])
def test_stops_inside_a_function_and_goes_on(server: Server, start_job, python: str, threads: str) -> None:
    process = start(server, start_job, python, "5", threads)
    nodes = server.client.get("/jobs/paused/graph/search?q=Relu&limit=50")["nodes"]
    assert any(node["name"] == RELU for node in nodes)
    stop_inside(server)
    hidden = row(server, RELU)
    assert len(hidden) == 8
    assert all(value >= 0 for value in hidden)
    server.control("paused", "next_node")
    wait_until("the next node", lambda: is_paused_elsewhere(server), SECONDS)
    server.control("paused", "continue")
    output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert len(losses(output)) == 5


def is_paused_elsewhere(server: Server) -> bool:
    job = server.job("paused")
    return job is not None and job["state"] == "paused" and job["node"] != RELU


def row(server: Server, node: str) -> list[float]:
    """The first row of a node's value, as 32-bit numbers."""
    data = server.client.get(f"/jobs/paused/tensor?name={node}:0&slice=[0,:]")["data"]
    return [float(value) for value in np.array(data, np.float32)]


def test_weights_are_read_while_the_training_stands(server: Server, start_job, python: str) -> None:
    process = start(server, start_job, python, "2")
    weight = row(server, KERNEL)
    server.control("paused", "step", steps=1)
    server.wait_for_state("paused", "paused", pause_reason="step", step=2)
    assert row(server, KERNEL) != weight
    server.control("paused", "continue")
    output, _ = process.communicate(timeout=SECONDS)
    printed = next(line for line in output.splitlines() if line.startswith("kernel "))
    assert [float.fromhex(word) for word in printed.split()[1:]] == weight


def test_an_interrupt_ends_a_stop_and_reaches_the_program(server: Server, start_job, python: str) -> None:
    process = start(server, start_job, python, "5")
    stop_inside(server)
    os.kill(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert "interrupted" in output
    assert "after" in output


def test_terminate_inside_a_function_ends_the_program(server: Server, start_job, python: str) -> None:
    process = start(server, start_job, python, "5")
    stop_inside(server)
    server.control("paused", "terminate")
    process.communicate(timeout=SECONDS)
    assert process.returncode == 143
    server.wait_for_state("paused", "terminated")


@pytest.mark.frameworks
def test_python_threads_run_while_the_training_stands(server: Server, start_job, python: str) -> None:
    process = start(server, start_job, python, "2", COUNT="1")
    stop_inside(server)
    assert process.stdout is not None
    alive = [process.stdout.readline() for _ in range(200)]
    assert any(line.startswith("alive") for line in alive[-20:])
    server.control("paused", "continue")
    process.communicate(timeout=SECONDS)
    assert process.returncode == 0


def test_an_unsupported_version_trains_undebugged(debug_run, python: str, tmp_path: Path) -> None:
    script = tmp_path / "old.py"
    script.write_text("import tensorflow\nprint('trained', tensorflow.__version__)\n")
    package = tmp_path / "tensorflow"
    package.mkdir()
    (package / "__init__.py").write_text("__version__ = '2.10.0'\n")
    run = debug_run("--no-wait", command=[python, str(script)])
    assert "trained 2.10.0" in run.stdout
    assert run.stderr.count("TensorFlow 2.10.0 is not supported") == 1
