"""Programs that use two frameworks: the one that trains is debugged, GRAPHDBG_FRAMEWORK decides where both do."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import GRAPHDBG, HOSTS, clean_environment
from environments import packages_with, python_with

PROGRAM = HOSTS / "frameworks" / "fed.py"
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
EVERY_VALUE = ("--no-wait", "--break-on", "expr:count > 0", "--on-hit", "continue")
JAX, PYTORCH = "forward/train_step/dot_general", "forward/addmm"


def debugged(debug_run, environment: str, way: str, **variables: str) -> tuple[set[str], int, str]:
    """The nodes with hits, the number of steps, and what graphdbg says."""
    command = [str(python_with(environment)), str(PROGRAM), way]
    run = debug_run(*EVERY_VALUE, command=command, **QUIET, **variables)
    assert run.code == 0, run.stderr
    return {hit["node"] for hit in run.result["hits"]}, run.result["steps"], run.stderr


def test_jax_is_debugged_though_pytorch_loads_its_data(debug_run) -> None:
    nodes, steps, said = debugged(debug_run, "jax", "torch_to_jax")
    assert JAX in nodes and not any(node.startswith("forward/mul") for node in nodes), said
    assert steps == 4
    assert "set GRAPHDBG_FRAMEWORK=torch" in said


@pytest.mark.long
def test_pytorch_is_debugged_though_tensorflow_loads_its_data(debug_run) -> None:
    nodes, steps, said = debugged(debug_run, "tensorflow", "tensorflow_to_pytorch")
    assert PYTORCH in nodes and not any("scaled" in node for node in nodes), said
    assert steps == 4


@pytest.mark.long
def test_jax_is_debugged_though_tensorflow_loads_its_data(debug_run) -> None:
    nodes, steps, said = debugged(debug_run, "tensorflow", "tensorflow_to_jax", PYTHONPATH=packages_with("jax"))
    assert JAX in nodes and not any("scaled" in node for node in nodes), said
    assert steps == 4


@pytest.mark.long(but=["jax-forward"])
@pytest.mark.parametrize(("chosen", "expected", "other"), [("", PYTORCH, JAX), ("jax", JAX, PYTORCH)])
def test_where_both_train_the_first_is_debugged_or_the_chosen(
    debug_run, chosen: str, expected: str, other: str
) -> None:
    nodes, steps, said = debugged(debug_run, "jax", "both", GRAPHDBG_FRAMEWORK=chosen)
    assert expected in nodes and other not in nodes, said
    assert steps == 4
    if not chosen:
        assert "set GRAPHDBG_FRAMEWORK=jax" in said


@pytest.mark.long
def test_a_recording_has_only_the_framework_that_trains(debug_run, tmp_path: Path) -> None:
    command = [str(python_with("jax")), str(PROGRAM), "torch_to_jax"]
    run = debug_run("--no-wait", "--record", str(tmp_path), command=command, **QUIET)
    assert run.code == 0, run.stderr
    shown = subprocess.run(
        [GRAPHDBG, "show", run.result["run"]], env=clean_environment(), capture_output=True, text=True, timeout=120
    )
    assert "forward/train_step/kernel" in shown.stdout, shown.stdout
    assert len([each for each in tmp_path.iterdir() if each.is_dir()]) == 1
