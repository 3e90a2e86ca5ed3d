"""TensorFlow without a compiler: ops are seen by taps in copies of the program's functions."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Json, Server, losses, marked_line
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
    WATCH,
    plain,
    python_with,
    row,
    start,
    stop_inside,
    trained,
)

TAPS = {"GRAPHDBG_ADAPTER": "taps"}


@pytest.fixture(params=[NEWEST, *(pytest.param(name, marks=pytest.mark.long) for name in EARLIER)])
def python(request: pytest.FixtureRequest) -> str:
    return str(python_with(request.param))


def test_without_a_compiler_a_nan_is_found_at_its_op_and_line(debug_run, python: str, tmp_path: Path) -> None:
    # No compiler is found, and no adapter that was compiled before.
    without = {"CXX": "", "PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    run = debug_run(*STOP, command=[python, str(BAD), "layer"], **QUIET, **without)
    assert run.code == 143, run.stderr
    assert "no C++ compiler found" in run.stderr
    assert "copies with taps" in run.stderr
    hit: Json = run.result["hits"][0]
    assert (hit["node"], hit["op_type"], hit["origin"]) == ("forward/net/Sqrt", "Sqrt", "origin")
    assert (hit["step"], hit["source"]["line"]) == (3, marked_line(BAD, "# layer"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("case", "node"),
    [("loop", "forward/net/while/Log"), ("overflow", "forward/net/Cast_1"), ("gradient", "backward/Sqrt")],
)
def test_a_bad_value_is_found_in_loops_and_gradients(debug_run, python: str, case: str, node: str) -> None:
    run = debug_run(*STOP, command=[python, str(BAD), case], **QUIET, **TAPS)
    assert run.code == 143, run.stderr
    hit = run.result["hits"][0]
    assert (hit["node"], hit["step"]) == (node, 3)
    assert hit["source"]["line"] == marked_line(BAD, f"# {case}")


def test_stops_inside_a_function_and_reads_values_and_weights(server: Server, start_job, python: str) -> None:
    process = start(server, start_job, python, "5", **TAPS)
    before = row(server, KERNEL)
    stop_inside(server)
    hidden = row(server, RELU)
    assert len(hidden) == 8
    assert all(value >= 0 for value in hidden)
    # The compiled adapter sees this op and the next ones as one.
    assert len(row(server, RELU.replace("Relu", "MatMul"))) == 8
    server.control("paused", "step")
    server.wait_for_state("paused", "paused", pause_reason="step", step=2)
    assert row(server, KERNEL) != before
    server.control("paused", "continue")
    output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert len(losses(output)) == 5


@pytest.mark.long
def test_terminate_inside_a_function_ends_the_program(server: Server, start_job, python: str) -> None:
    process = start(server, start_job, python, "5", **TAPS)
    stop_inside(server)
    server.control("paused", "terminate")
    process.communicate(timeout=SECONDS)
    assert process.returncode == 143
    server.wait_for_state("paused", "terminated")


def numbers(line: str) -> list[float]:
    return [float.fromhex(word) for word in line.split()[1:-1]]


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["dense", "convolutions", "attention", "own_function", "control_flow", "mixed_precision", "compiled"]
)
def test_results_are_nearly_the_same(debug_run, python: str, name: str) -> None:
    command = [python, str(SCRIPTS / "trainings.py"), name]
    expected = plain(python, name)
    # The first step is followed even if nobody looks.
    idle = debug_run("--no-wait", command=command, **SINGLE, **TAPS)
    watched = debug_run(*WATCH, command=command, **SINGLE, **TAPS)
    for run in (idle, watched):
        assert run.code == 0, run.stderr
        assert numbers(trained(run.stdout)[0]) == pytest.approx(numbers(expected[0]), rel=1e-3)
    assert watched.result["steps"] == idle.result["steps"] > 0
