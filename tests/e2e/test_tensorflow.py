"""Programs of TensorFlow and Keras are debugged unchanged, to the bit, down to the op and the user's line."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import graphdbg
import pytest
from conftest import Json, Server, losses, marked_line, wait_until
from tensorflow_programs import (
    BAD,
    EARLIER,
    KERNEL,
    NEWEST,
    QUIET,
    RELU,
    SCRIPTS,
    SECONDS,
    SINGLE,
    STOP,
    TRAININGS,
    WATCH,
    plain,
    prepared,
    row,
    start,
    stop_inside,
    trained,
)


@pytest.fixture(scope="session")
def python() -> str:
    return prepared(NEWEST)


@pytest.fixture(params=[NEWEST, *(pytest.param(name, marks=pytest.mark.long) for name in EARLIER)])
def each_python(request: pytest.FixtureRequest) -> str:
    """Of each version that is supported."""
    return prepared(request.param)


@pytest.mark.parametrize(
    ("names", "steps"),
    [
        (("dense", "eager"), 8 + 4),
        # Calls that update no optimizer are no steps in a program that has one: those of control_flow.
        pytest.param(TRAININGS, 6 * 8 + 2 * 4, marks=pytest.mark.long),
    ],
)
def test_losses_and_weights_are_the_same_to_the_bit(
    debug_run, each_python: str, names: tuple[str, ...], steps: int
) -> None:
    command = [each_python, str(SCRIPTS / "trainings.py"), *names]
    run = debug_run(*WATCH, command=command, **SINGLE)
    assert run.code == 0, run.stderr
    assert trained(run.stdout) == plain(each_python, *names)
    assert run.result["steps"] == steps


@pytest.mark.long
def test_steps_within_a_call_are_counted_while_nothing_is_watched(debug_run, each_python: str) -> None:
    command = [each_python, str(SCRIPTS / "trainings.py"), "several_steps_per_call"]
    run = debug_run("--no-wait", "--no-overview", command=command, **SINGLE)
    assert (run.code, run.result["steps"]) == (0, 2 * 4), run.stderr


@pytest.mark.long
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
        pytest.param("eager", "forward/Sqrt", "Sqrt", marks=pytest.mark.long),
        pytest.param("loop", "forward/net/while/Log", "Log", marks=pytest.mark.long),
        pytest.param("overflow", "forward/net/Cast_1", "Cast", marks=pytest.mark.long),
        pytest.param("gradient", "backward/Sqrt", "Sqrt", marks=pytest.mark.long),
    ],
)
def test_training_ends_at_the_op_and_the_line(debug_run, each_python: str, case: str, node: str, op_type: str) -> None:
    run = debug_run(*STOP, command=[each_python, str(BAD), case], **QUIET)
    assert run.code == 143, run.stderr
    assert run.result["status"] == "terminated"
    hit: Json = run.result["hits"][0]
    assert (hit["node"], hit["op_type"], hit["origin"]) == (node, op_type, "origin")
    assert hit["step"] == 3
    assert hit["source"]["file"] == str(BAD)
    assert hit["source"]["line"] == marked_line(BAD, f"# {case}")


@pytest.mark.long
def test_gradients_outside_of_functions_belong_to_variables(debug_run, python: str, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"record": {"overhead": 0}, "collections": [{"name": "gradients"}]}))
    options = ["--no-wait", "--record", str(tmp_path), "--config", str(config)]
    run = debug_run(*options, command=[python, str(BAD), "eager"], **QUIET)
    assert run.code == 0, run.stderr
    recorded = graphdbg.open_run(run.result["run"])
    assert recorded.collections()["gradients"].tensors == ("backward/weight/gradient:0",)
    # The third step has a loss that is NaN.
    bad = recorded.tensor("backward/weight/gradient:0").history("nan_count")
    assert [count > 0 for count in bad["nan_count"]] == [False, False, True, True]


@pytest.mark.parametrize("threads", ["2", pytest.param("1", marks=pytest.mark.long)])
def test_stops_inside_a_function_and_goes_on(server: Server, start_job, each_python: str, threads: str) -> None:
    process = start(server, start_job, each_python, "5", threads)
    nodes = server.client.get("/jobs/paused/graph/search?q=Relu&limit=50")["nodes"]
    assert any(node["name"] == RELU for node in nodes)
    stop_inside(server)
    hidden = row(server, RELU)
    assert len(hidden) == 8
    assert all(value >= 0 for value in hidden)
    assert server.recheck("paused", RELU)["step"] == 2
    server.control("paused", "next_node")
    wait_until("the next node", lambda: is_paused_elsewhere(server), SECONDS)
    server.control("paused", "continue")
    output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert len(losses(output)) == 5


def is_paused_elsewhere(server: Server) -> bool:
    job = server.job("paused")
    return job is not None and job["state"] == "paused" and job["node"] != RELU


def test_weights_are_read_while_the_training_stands(server: Server, start_job, each_python: str) -> None:
    process = start(server, start_job, each_python, "2")
    weight = row(server, KERNEL)
    server.control("paused", "step", steps=1)
    server.wait_for_state("paused", "paused", pause_reason="step", step=2)
    assert row(server, KERNEL) != weight
    server.control("paused", "continue")
    output, _ = process.communicate(timeout=SECONDS)
    printed = next(line for line in output.splitlines() if line.startswith("kernel "))
    assert [float.fromhex(word) for word in printed.split()[1:]] == weight


@pytest.mark.long
def test_an_interrupt_ends_a_stop_and_reaches_the_program(server: Server, start_job, python: str) -> None:
    process = start(server, start_job, python, "5")
    stop_inside(server)
    os.kill(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert "interrupted" in output
    assert "after" in output


@pytest.mark.long
def test_terminate_inside_a_function_ends_the_program(server: Server, start_job, each_python: str) -> None:
    process = start(server, start_job, each_python, "5")
    stop_inside(server)
    server.control("paused", "terminate")
    process.communicate(timeout=SECONDS)
    assert process.returncode == 143
    server.wait_for_state("paused", "terminated")


@pytest.mark.long
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
