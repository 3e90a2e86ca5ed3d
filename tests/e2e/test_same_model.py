"""The same model, trained alike in PyTorch, TensorFlow and JAX, is compared by `graphdbg diff --map`."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import graphdbg
import pytest
from conftest import GRAPHDBG, HOSTS, Json, clean_environment
from environments import python_with

PROGRAM = HOSTS / "frameworks" / "same_model.py"
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
PARAMETERS = ("hidden kernel", "head kernel", "hidden bias", "head bias")
NAMED = ("all", "losses", "weights", "biases", "gradients", "layers")
EVERYTHING = {"record": {"overhead": 0}, "collections": [{"name": name} for name in NAMED]}
ENVIRONMENTS = {"pytorch": "jax", "tensorflow": "tensorflow", "jax": "jax"}
# What these are called in the frameworks: activations, the loss and parameters. Gradients are known by those.
NAMES = {
    "pytorch": (
        "forward/relu",
        "forward/mul",
        "forward/head/addmm",
        "forward/mean",
        "forward/hidden/weight",
        "forward/head/weight",
        "forward/hidden/bias",
        "forward/head/bias",
    ),
    "tensorflow": (
        "forward/net/hidden/Relu",
        "forward/net/mul",
        "forward/net/head/BiasAdd",
        "forward/Mean",
        "forward/net/hidden/kernel",
        "forward/net/head/kernel",
        "forward/net/hidden/bias",
        "forward/net/head/bias",
    ),
    "jax": (
        "forward/train_step/hidden/max",
        "forward/train_step/mul",
        "forward/train_step/head/add",
        "forward/train_step/div",
        "forward/train_step/params/hidden/kernel",
        "forward/train_step/params/head/kernel",
        "forward/train_step/params/hidden/bias",
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


@pytest.mark.long(but=["pytorch-jax"])
@pytest.mark.parametrize(("here", "there"), [("pytorch", "tensorflow"), ("pytorch", "jax"), ("tensorflow", "jax")])
def test_frameworks_compute_the_same(runs: dict[str, str], here: str, there: str) -> None:
    code, found = diff(runs, here, there)
    assert (code, found["first"]) == (0, None)
    assert (found["steps"], found["matched"]) == (4, len(NAMES[here]) + len(PARAMETERS))
    compared = set(NAMES[here]) - {name.rpartition(":")[0] for name in found["only_here"]}
    assert compared == set(NAMES[here])


@pytest.mark.parametrize("here", ["pytorch", "tensorflow"])
def test_a_difference_between_frameworks_is_found_at_its_op(runs: dict[str, str], here: str) -> None:
    code, found = diff(runs, here, "jax late")
    assert code == 1
    assert (found["first"]["step"], found["first"]["node"]) == (3, NAMES[here][1])


OTHERS = pytest.mark.parametrize("framework", ["tensorflow", "jax"])


@OTHERS
def test_recordings_know_what_tensors_are(runs: dict[str, str], framework: str) -> None:
    found = {each: graphdbg.open_run(runs[framework]).collections()[each].tensors for each in NAMED}
    prefix = {"tensorflow": "net", "jax": "train_step/params"}[framework]
    assert set(found["weights"]) == {f"forward/{prefix}/{layer}/kernel:0" for layer in ("hidden", "head")}
    assert set(found["biases"]) == {f"forward/{prefix}/{layer}/bias:0" for layer in ("hidden", "head")}
    # One for each parameter.
    assert len(found["gradients"]) == 4 and all(name.startswith("backward/") for name in found["gradients"])
    assert found["losses"] == ({"tensorflow": "forward/Mean:0", "jax": "forward/train_step/loss:0"}[framework],)
    if framework == "tensorflow":
        assert set(found["layers"]) >= {"forward/net/hidden/Relu:0", "forward/net/head/BiasAdd:0"}


@OTHERS
def test_recorded_tensors_are_rechecked(runs: dict[str, str], framework: str) -> None:
    run = command("recheck", runs[framework], "expr:max > 4.7", "--json")
    assert run.returncode == 1, run.stderr
    hits = json.loads(run.stdout)["checks"][0]["hits"]
    assert NAMES[framework][0] in {hit["node"] for hit in hits}
    assert all(hit["source"]["file"] == str(PROGRAM) for hit in hits if hit["node"] == NAMES[framework][0])


@OTHERS
def test_recordings_are_judged_by_rules(runs: dict[str, str], framework: str) -> None:
    run = command("rules", runs[framework], "--json")
    assert run.returncode == 0, run.stderr
    for rule in ("vanishing_gradient", "gradient_spike", "weight_update_ratio", "loss_not_decreasing"):
        assert f"{rule} is not evaluated" not in run.stderr
        assert f"{rule}: nothing that it selects" not in run.stderr


@OTHERS
def test_recordings_are_opened(runs: dict[str, str], framework: str) -> None:
    process = subprocess.Popen(
        [GRAPHDBG, "open", runs[framework], "--json"], stdout=subprocess.PIPE, text=True, env=clean_environment()
    )
    try:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["run"] == "same_model"
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = clean_environment()
    return subprocess.run([GRAPHDBG, *arguments], env=environment, capture_output=True, text=True, timeout=120)
