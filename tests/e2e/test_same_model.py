"""The same model, trained alike in PyTorch, TensorFlow and JAX, is compared by `graphdbg diff --map`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from conftest import GRAPHDBG, HOSTS, Json, clean_environment
from environments import python_with

PROGRAM = HOSTS / "frameworks" / "same_model.py"
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
EVERYTHING = {"record": {"overhead": 0}, "collections": [{"name": "all"}]}
ENVIRONMENTS = {"pytorch": "jax", "tensorflow": "tensorflow", "jax": "jax"}
# What these are called in the frameworks: activations, the loss, a gradient and parameters.
NAMES = {
    "pytorch": (
        "forward/relu",
        "forward/mul",
        "forward/head/addmm",
        "forward/mean",
        "backward/hidden/mm",
        "forward/hidden/weight",
        "forward/head/bias",
    ),
    "tensorflow": (
        "forward/net/hidden/Relu",
        "forward/net/mul",
        "forward/net/head/BiasAdd",
        "forward/Mean",
        "backward/net/hidden/MatMul/MatMul",
        "forward/net/hidden/kernel",
        "forward/net/head/bias",
    ),
    "jax": (
        "forward/train_step/hidden/max",
        "forward/train_step/mul",
        "forward/train_step/head/add",
        "forward/train_step/div",
        "backward/train_step/hidden/dot_general",
        "forward/train_step/params/hidden/kernel",
        "forward/train_step/params/head/bias",
    ),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The recording of each framework, and of JAX with a fault from the third step on."""
    folder = tmp_path_factory.mktemp("same")
    config = folder / "config.json"
    config.write_text(json.dumps(EVERYTHING))
    return {way: record(folder / way.replace(" ", "-"), config, way.split()) for way in (*ENVIRONMENTS, "jax late")}


def record(folder: Path, config: Path, way: list[str]) -> str:
    result = folder.with_suffix(".json")
    options = ["--no-wait", "--record", str(folder), "--config", str(config), "--result", str(result)]
    command = [str(python_with(ENVIRONMENTS[way[0]])), str(PROGRAM), *way]
    run = subprocess.run(
        [GRAPHDBG, "run", *options, "--", *command],
        env=clean_environment(**QUIET),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    recorded: str = json.loads(result.read_text())["run"]
    return recorded


def diff(runs: dict[str, str], here: str, there: str) -> tuple[int, Json]:
    pairs = zip(NAMES[here], NAMES[there.split()[0]], strict=True)
    mapped = [f"--map={old}={new}" for old, new in pairs]
    run = subprocess.run(
        [GRAPHDBG, "diff", runs[here], runs[there], *mapped, "--json"],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode in (0, 1), run.stderr
    return run.returncode, json.loads(run.stdout)


@pytest.mark.parametrize(("here", "there"), [("pytorch", "tensorflow"), ("pytorch", "jax"), ("tensorflow", "jax")])
def test_frameworks_compute_the_same(runs: dict[str, str], here: str, there: str) -> None:
    code, found = diff(runs, here, there)
    assert (code, found["first"]) == (0, None)
    assert (found["steps"], found["matched"]) == (4, len(NAMES[here]))
    compared = set(NAMES[here]) - {name.rpartition(":")[0] for name in found["only_here"]}
    assert compared == set(NAMES[here])


@pytest.mark.parametrize("here", ["pytorch", "tensorflow"])
def test_a_difference_between_frameworks_is_found_at_its_op(runs: dict[str, str], here: str) -> None:
    code, found = diff(runs, here, "jax late")
    assert code == 1
    assert (found["first"]["step"], found["first"]["node"]) == (3, NAMES[here][1])
