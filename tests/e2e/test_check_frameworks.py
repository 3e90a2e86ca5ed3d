"""`graphdbg check` of programs that train with other frameworks than PyTorch."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from conftest import GRAPHDBG, HOSTS, Json, clean_environment, marked_line
from environments import python_with
from graphdbg.cli.check.records import STAGES

PROGRAMS = HOSTS / "check" / "frameworks"
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
# What the report calls the framework, and the number of the program's steps.
SOUND = [("tensorflow", "TensorFlow 2.", 4), ("jax", "JAX 0.", 4), ("boosting", "XGBoost ", 4)]


def check(framework: str, fault: str) -> tuple[int, Json]:
    command = [str(python_with(framework)), str(PROGRAMS / f"{framework}_program.py"), fault]
    process = subprocess.run(
        [GRAPHDBG, "check", "--json", "--", *command],
        env=clean_environment(**QUIET),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert process.stdout, process.stderr
    assert "part of the check has failed" not in process.stderr
    return process.returncode, json.loads(process.stdout)


def stages(result: Json) -> dict[str, Any]:
    return {each["name"]: each for each in result["stages"]}


@pytest.mark.long(but=["tensorflow"])
@pytest.mark.parametrize(("framework", "title", "steps"), SOUND, ids=[each[0] for each in SOUND])
def test_a_program_without_a_fault_passes(framework: str, title: str, steps: int) -> None:
    code, result = check(framework, "none")
    found = stages(result)
    assert {name: each["state"] for name, each in found.items()} == dict.fromkeys(STAGES, "passed")
    assert (code, result["steps"]) == (0, steps)
    assert title in found["environment"]["message"]
    if framework != "boosting":
        # A model of 8 x 16 + 16 and 16 x 3 + 3 parameters, and one of 8 x 3 + 3.
        assert found["model"]["facts"]["parameters"] == {"tensorflow": 195, "jax": 27}[framework]
        assert float(found["loss"]["facts"]["value"]) > 0
        assert found["backward"]["facts"]["without_gradient"] == []
        assert found["optimizer"]["facts"].get("changed", True)


LONG = pytest.mark.long


@pytest.mark.parametrize(
    ("framework", "fault", "failing", "message"),
    [
        pytest.param("tensorflow", "features", "forward", "expected axis -1", marks=LONG),
        pytest.param("tensorflow", "labels", "loss", "label value of 3 which is outside", marks=LONG),
        pytest.param("tensorflow", "nan", "loss", "the loss is nan", marks=LONG),
        pytest.param("tensorflow", "rate", "second_step", "changed no weight", marks=LONG),
        pytest.param("tensorflow", "gradients", "backward", "none of the 4 variables has a gradient", marks=LONG),
        ("jax", "features", "forward", "dot_general requires contracting dimensions"),
        pytest.param("jax", "nan", "loss", "the loss is nan", marks=LONG),
        pytest.param("jax", "rate", "second_step", "changed no weight", marks=LONG),
        pytest.param("boosting", "labels", "data", "size", marks=LONG),
        ("boosting", "objective", "loss", "could not be broadcast"),
    ],
)
def test_a_fault_is_found_at_its_stage(framework: str, fault: str, failing: str, message: str) -> None:
    code, result = check(framework, fault)
    found = stages(result)
    states = {name: each["state"] for name, each in found.items()}
    assert code == 1
    assert next(name for name in STAGES if states[name] == "failed") == failing, states
    assert message in found[failing]["message"]
    program = PROGRAMS / f"{framework}_program.py"
    mark = f"# {fault}"
    if any(line.endswith(mark) for line in program.read_text().splitlines()):
        assert found[failing]["source"] == {"file": str(program), "line": marked_line(program, mark)}
