"""XGBoost and LightGBM under the debugger: rounds are steps, and models stay as they are to the bit."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphdbg
import numpy as np
import pytest
from conftest import GRAPHDBG, HOSTS, Finished, Server, clean_environment, marked_line
from environments import python_with

DebugRun = Callable[..., Finished]
LIBRARIES = ["xgboost", "lightgbm"]
PROGRAMS = HOSTS / "boosting_programs.py"
SHORT = ["xgboost:hist", "xgboost:loop", "xgboost:cv", "lightgbm:plain", "lightgbm:loop"]
LONG = [
    *("xgboost:" + way for way in ("exact", "approx", "dart", "linear", "parallel", "own", "multiclass", "quantile")),
    *("xgboost:" + way for way in ("targets", "boost", "continued", "Classifier", "Regressor", "Ranker")),
    *("lightgbm:" + way for way in ("dart", "goss", "rf", "own", "multiclass", "cv")),
    *("lightgbm:" + way for way in ("Classifier", "Regressor", "Ranker")),
]
EACH = [*SHORT, *(pytest.param(way, marks=pytest.mark.long) for way in LONG)]


@pytest.fixture(scope="module")
def python() -> str:
    return str(python_with("boosting"))


def command_of(python: str, way: str) -> list[str]:
    return [python, "-W", "ignore", str(PROGRAMS), *way.split(":")]


def trained_alone(command: list[str]) -> str:
    alone = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, timeout=300)
    assert alone.returncode == 0, alone.stderr
    return alone.stdout


@pytest.mark.parametrize("way", EACH)
def test_models_are_the_same_to_the_bit_and_rounds_are_steps(way: str, python: str, debug_run: DebugRun) -> None:
    command = command_of(python, way)
    debugged = debug_run("--no-wait", "--break-on", "nan,inf", command=command)
    assert debugged.code == 0, debugged.stderr
    assert "model" in debugged.stdout
    assert debugged.stdout == trained_alone(command)
    assert debugged.result["steps"] == 10
    assert debugged.result["hits"] == []


@pytest.mark.long
def test_early_stopping_ends_as_without_the_debugger(python: str, debug_run: DebugRun) -> None:
    command = command_of(python, "xgboost:stopping")
    debugged = debug_run("--no-wait", "--break-on", "nan,inf", command=command)
    assert debugged.stdout == trained_alone(command)
    assert debugged.result["steps"] == int(debugged.stdout.split()[-1]) < 100


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_nan_in_a_gradient_of_an_own_objective_is_a_hit(library: str, python: str, debug_run: DebugRun) -> None:
    script = HOSTS / "boosting_nan.py"
    run = debug_run("--no-wait", "--break-on", "nan", "--on-hit", "terminate", command=[python, str(script), library])
    assert run.code == 143, run.stderr
    [hit] = run.result["hits"]
    assert (hit["node"], hit["step"], hit["origin"], hit["op_type"]) == ("train/gradient", 2, "origin", "logistic")
    assert hit["statistics"]["nan_count"] == 1
    assert hit["source"]["file"] == str(script)
    assert hit["source"]["line"] == marked_line(script)
    assert "trained" not in run.stdout


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_nan_in_the_gradient_of_a_later_booster_is_a_hit(library: str, python: str, debug_run: DebugRun) -> None:
    command = [python, str(HOSTS / "boosting_nan.py"), library, "later"]
    run = debug_run("--no-wait", "--break-on", "nan", "--on-hit", "terminate", command=command)
    assert run.code == 143, run.stderr
    [hit] = run.result["hits"]
    assert (hit["node"], hit["step"], hit["op_type"]) == ("booster_2/train/gradient", 5, "logistic")


def test_margins_are_those_of_the_model_and_trees_those_of_its_dump(
    python: str, server: Server, start_job: Any, injected: dict[str, str], tmp_path: Path
) -> None:
    facts_file = tmp_path / "facts.json"
    environment = server.job_environment(GRAPHDBG_JOB="slices", **injected)
    process = start_job([python, str(HOSTS / "boosting_slices.py"), str(facts_file)], environment)
    server.wait_for_state("slices", "paused", pause_reason="start")
    margins, columns = [], []
    for step in range(1, 5):
        server.control("slices", "step")
        server.wait_for_state("slices", "paused", pause_reason="step", step=step)
        margins.append(_value(server, "train/margin:0"))
        columns.append([_value(server, f"train/tree:{slot}") for slot in range(4)])
    trees = [_tree_of(server, step) for step in range(1, 5)]
    server.control("slices", "continue")
    assert process.wait(60) == 0
    facts = json.loads(facts_file.read_text())
    np.testing.assert_array_equal(np.array(margins, np.float32), np.array(facts["margins"], np.float32))
    assert trees == [sorted(tree) for tree in facts["trees"]]
    for mine, own in zip(columns, facts["columns"], strict=True):
        for values, expected in zip(mine, own, strict=True):
            np.testing.assert_array_equal(np.array(values, np.float32), np.array(expected, np.float32))


def _value(server: Server, name: str) -> Any:
    return server.client.get(f"/jobs/slices/tensor?name={name}")["data"]


def _tree_of(server: Server, number: int) -> list[str]:
    """The features of the splits of a tree, and "leaf" for each leaf."""
    scope = server.client.get(f"/jobs/slices/graph/scope?name=tree/{number}")
    return sorted(node["label"].split("_")[-1] if node["op_type"] == "split" else "leaf" for node in scope["nodes"])


def test_a_job_ends_at_the_round_at_which_it_is_told_to(python: str, debug_run: DebugRun) -> None:
    run = debug_run("--no-wait", "--steps", "3", command=command_of(python, "xgboost:hist"))
    assert run.code == 143, run.stderr
    assert run.result["steps"] == 3
    assert "model" not in run.stdout


@pytest.mark.parametrize(
    ("library", "version", "message"),
    [
        ("xgboost", "1.7.6", "XGBoost 1.7.6 is not supported, only 2.0 to 3.x"),
        ("lightgbm", "5.0.0", "LightGBM 5.0.0 is not supported, only 3.3 to 4.x"),
    ],
)
def test_another_version_trains_undebugged(
    library: str, version: str, message: str, debug_run: DebugRun, tmp_path: Path
) -> None:
    (tmp_path / library).mkdir()
    (tmp_path / library / "__init__.py").write_text(f"__version__ = '{version}'\n")
    (tmp_path / "train.py").write_text(f"import {library}\nprint('trained with', {library}.__version__)\n")
    run = debug_run("--no-wait", command=[sys.executable, str(tmp_path / "train.py")])
    assert run.stdout == f"trained with {version}\n"
    assert run.stderr.count(f"{message}; the program continues without debugging") == 1


@pytest.mark.long
def test_without_a_server_training_goes_on(python: str, injected: dict[str, str]) -> None:
    command = command_of(python, "xgboost:hist")
    environment = clean_environment(GRAPHDBG_ENABLE="1", GRAPHDBG_PORT="1", GRAPHDBG_CONNECT_TIMEOUT="1", **injected)
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout == trained_alone(command)


@pytest.mark.long
def test_a_server_that_dies_does_not_stop_the_training(
    python: str, server: Server, start_job: Any, injected: dict[str, str]
) -> None:
    environment = server.job_environment(GRAPHDBG_JOB="orphan", GRAPHDBG_GRACE="1", **injected)
    process = start_job(command_of(python, "xgboost:hist"), environment)
    server.wait_for_state("orphan", "paused", pause_reason="start")
    server.control("orphan", "step")
    server.wait_for_state("orphan", "paused", pause_reason="step")
    server.process.kill()
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert output == trained_alone(command_of(python, "xgboost:hist"))


def test_recorded_runs_have_every_round_and_are_compared_and_judged(
    python: str, debug_run: DebugRun, tmp_path: Path
) -> None:
    runs = []
    for number in range(2):
        recorded = debug_run(
            "--no-wait", "--record", str(tmp_path / str(number)), command=command_of(python, "xgboost:hist")
        )
        assert recorded.code == 0, recorded.stderr
        runs.append(recorded.result["run"])
    run = graphdbg.open_run(runs[0])
    assert run.tensor("train/tree_depth").steps() == list(range(1, 11))
    compared = subprocess.run([GRAPHDBG, "diff", *runs], capture_output=True, text=True, timeout=120)
    assert compared.returncode == 0, compared.stderr
    config = tmp_path / "rules.json"
    rules = [
        {"rule": "tree_depth", "params": {"depth": 2}},
        {"rule": "feature_importance_overweight", "params": {"nfeatures": 1, "threshold": 0.99}},
        {"rule": "overfit"},
    ]
    config.write_text(json.dumps({"rules": rules}))
    judged = subprocess.run(
        [GRAPHDBG, "rules", runs[0], "--config", str(config), "--json"], capture_output=True, text=True, timeout=120
    )
    assert judged.returncode == 1, judged.stderr
    found = {finding["rule"] for finding in json.loads(judged.stdout)["findings"]}
    assert found == {"tree_depth"}
