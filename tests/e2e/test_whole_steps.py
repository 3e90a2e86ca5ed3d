"""Whole steps of real jobs are captured, and repeated in other processes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import GRAPHDBG, HOSTS, Finished, clean_environment
from graphdbg._bundle.repro import described_tensors
from graphdbg.cli.replay.bundle_file import BundleFile
from graphdbg.cli.replay.run_bundle import run_bundle
from test_bundles import _WITHOUT_GRAPHDBG, BUGS_SCRIPT, graphdbg_program, rewrite

MODELS = HOSTS / "replayed_models.py"
PROGRAMS = HOSTS / "random_programs.py"
# Each optimizer's last writes to weights.
LAST_OPS = ["addcdiv_", "add_", "_foreach_addcdiv_", "_foreach_add_", "_fused_adamw_", "_fused_sgd_", "copy_", "mul_"]


def capture_all(
    directory: Path, script: Path, *arguments: str, patterns: list[str], settings: dict[str, Any] | None = None
) -> tuple[str, list[Path]]:
    """Captures each execution of some nodes. Returns what the script has printed, and the bundles in their order."""
    capture = {"to": str(directory / "bundles"), "keep": 10_000, "tape": "whole_step", "sources": False}
    watchpoint = {"condition": "expr:abs_max > -1", "patterns": patterns, "pause": "none", "actions": ["capture"]}
    config = directory / "job.json"
    config.write_text(json.dumps({"capture": {**capture, **(settings or {})}, "watchpoints": [watchpoint]}))
    run = graphdbg_program(
        *("run", "--no-wait", "--on-hit", "continue", "--config", str(config)),
        *("--", sys.executable, str(script), *arguments),
    )
    assert run.returncode == 0, run.stderr
    return run.stdout, sorted((directory / "bundles").glob("*.graphdbg"), key=lambda path: path.stat().st_mtime_ns)


def test_whole_steps_of_many_models_give_the_same_bits(tmp_path: Path) -> None:
    printed, files = capture_all(tmp_path, MODELS, patterns=[f"optimizer/**/{each}*" for each in LAST_OPS])
    alone = subprocess.run(
        [sys.executable, str(MODELS)], capture_output=True, text=True, check=True, env=clean_environment()
    )
    rows = [line.split() for line in printed.splitlines() if len(line.split()) == 3]
    # Nothing of the training is changed by the tape.
    assert [" ".join(row) for row in rows] == alone.stdout.splitlines()
    last: dict[int, Path] = {}
    for file in files:
        with BundleFile(file) as bundle:
            last[bundle.manifest["step"]] = file
    same, kinds = [], set()
    for name, step, _ in rows:
        with BundleFile(last[int(step)]) as bundle:
            assert bundle.manifest["level"] == "step", (name, bundle.manifest.get("why_not_step"))
            if run_bundle(bundle)["verdict"] == "same bits":
                same.append(name)
            kinds |= {op["op"] for op in bundle.json("tape.json")["ops"]}
    print(f"{len(same)} of {len(rows)} models are replayed to the same bits")
    assert same == [name for name, *_ in rows] and len(rows) > 30
    assert kinds >= {"aten::bernoulli_.float", "aten::native_batch_norm", "aten::convolution_backward"}


def test_random_programs_give_the_same_bits(tmp_path: Path) -> None:
    _, files = capture_all(tmp_path, PROGRAMS, "10", "500", patterns=["optimizer/**/add_*", "optimizer/**/clone"])
    assert len(files) >= 20
    for file in files:
        with BundleFile(file) as bundle:
            assert (bundle.manifest["level"], run_bundle(bundle)["verdict"]) == ("step", "same bits"), file
    with BundleFile(files[-1]) as bundle:
        tape = bundle.json("tape.json")
    assert len(tape["ops"]) > 50 and any(op.get("state") for op in tape["ops"])


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a bundle for each first hit of the bugs, with the tape that this needs by itself."""
    directory = tmp_path_factory.mktemp("steps") / "bundles"
    config = directory.parent / "job.yaml"
    config.write_text("capture: {keep: 1000}\n")
    run = graphdbg_program(
        *("run", "--no-wait", "--on-hit", "continue", "--capture", str(directory), "--config", str(config)),
        *("--break-on", "nan,inf:absorbed=stop", "--", sys.executable, str(BUGS_SCRIPT)),
    )
    assert run.returncode == 0, run.stderr
    return directory


def first(directory: Path, node: str) -> Path:
    return next(directory.glob(f"*-step000001-{node}.0.graphdbg"))


def test_hits_have_bundles_of_their_steps_from_forward_to_optimizer(steps: Path, tmp_path: Path) -> None:
    for node in ("forward_dropout_log", "backward_sqrt_div", "optimizer_Adam_addcmul_"):
        with BundleFile(first(steps, node)) as bundle:
            assert bundle.manifest["level"] == "step"
            assert run_bundle(bundle)["verdict"] == "same bits"
    # The state that a hit in the optimizer needs was overwritten by the op itself in the second step.
    file = next(steps.glob("*-step000002-optimizer_Adam_addcmul_.0.graphdbg"))
    with BundleFile(file) as bundle:
        assert bundle.manifest["level"] == "step" and run_bundle(bundle)["verdict"] == "same bits"
        training = bundle.json("training.json")
    assert training["optimizers"][0]["class"].endswith(".Adam") and training["optimizers"][0]["groups"][0]["lr"]
    unpacked = tmp_path / "unpacked"
    assert graphdbg_program("bundle", "--unpack", str(unpacked), str(file)).returncode == 0
    script = subprocess.run(
        [sys.executable, "-c", _WITHOUT_GRAPHDBG, str(unpacked / "repro.py")],
        **{"capture_output": True, "text": True, "cwd": tmp_path, "env": clean_environment()},
    )
    assert script.returncode == 0, script.stderr
    assert "the same bits" in script.stdout


def test_random_numbers_are_those_of_the_job(steps: Path) -> None:
    with BundleFile(first(steps, "forward_dropout_log")) as bundle:
        tape = bundle.json("tape.json")
        members = bundle.members
    (drawn,) = (op for op in tape["ops"] if op.get("state"))
    assert "bernoulli" in drawn["op"] and members["random.safetensors"] > 5056
    # The mask is uninitialized memory, which the op overwrites: nothing of it is saved.
    mask = next(described_tensors(drawn["arguments"][0]["value"]))
    assert tape["storages"][mask["storage"]]["leaf"] is None


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"tape": "forward_backward"}, "tape: forward_backward"),
        ({"tape": "whole_step", "tape_budget": 100}, "tape_budget"),
        ({"tape": "off"}, None),
    ],
)
def test_without_enough_of_the_tape_the_op_alone_is_captured(
    tmp_path: Path, settings: dict[str, Any], reason: str | None
) -> None:
    _, files = capture_all(tmp_path, MODELS, "loop", patterns=["optimizer/**/sqrt*"], settings=settings)
    assert files
    for file in files:
        with BundleFile(file) as bundle:
            assert bundle.manifest["level"] == "op" and "random.safetensors" not in bundle.members
            assert (bundle.manifest.get("why_not_step") or "").count(reason or "") or reason is None
            assert run_bundle(bundle)["verdict"] == "same bits"


def test_bisect_finds_where_values_go_wrong(steps: Path) -> None:
    found = json.loads(graphdbg_program("replay", "--bisect", "--json", str(first(steps, "forward_input_sub"))).stdout)
    assert found["given"] and found["behind"][-1]["node"] == "forward/input/sub"
    text = graphdbg_program("replay", "--bisect", str(first(steps, "backward_sqrt_div")))
    assert text.returncode == 0
    assert text.stdout.splitlines()[0].startswith(f"backward/sqrt/div (aten::div.Tensor)   {BUGS_SCRIPT}:")
    assert text.stdout.splitlines()[1] == "  its inputs are finite, its result has 4 inf"


@pytest.mark.parametrize("way", ["--bisect", "--what-if", "--debug"])
@pytest.mark.parametrize("case", ["no_storages", "boundary", "state", "source"])
def test_hostile_steps_are_refused(steps: Path, tmp_path: Path, way: str, case: str) -> None:
    def change(members: dict[str, bytes]) -> None:
        tape, manifest = json.loads(members["tape.json"]), json.loads(members["manifest.json"])
        if case == "no_storages":
            tape["storages"] = 3
        elif case == "boundary":
            manifest["boundaries"] = ["\x1b[31m"]
        elif case == "state":
            tape["ops"][0]["state"] = {"__class__": 1}
        else:
            tape["ops"][-1]["source"] = "/etc/passwd"
        members["tape.json"] = json.dumps(tape).encode()
        members["manifest.json"] = json.dumps(manifest).encode()

    file = tmp_path / "hostile.graphdbg"
    rewrite(first(steps, "forward_log_softmax_log"), file, change)
    replay = subprocess.run(
        [GRAPHDBG, "replay", way, str(file)],
        **{"input": "info frame\n", "capture_output": True, "text": True, "env": clean_environment()},
    )
    assert "Traceback" not in replay.stderr and "\x1b[31m" not in replay.stdout + replay.stderr
    # The debugger repeats the ops only once their values are asked for.
    if case == "boundary" or (case == "no_storages" and way != "--debug"):
        assert replay.returncode == 2, replay.stderr


@pytest.mark.long(but=["division"])
@pytest.mark.parametrize(
    ("node", "cause"),
    [
        ("forward_narrow_mul_1", "in its own type and not in float64"),
        ("forward_log_softmax_log", "if what is upstream runs in it, too"),
        ("forward_input_sub", "the input is the cause"),
        ("forward_division_div", "fails everywhere"),
    ],
)
def test_experiments_name_the_cause(steps: Path, node: str, cause: str) -> None:
    replay = graphdbg_program("replay", "--what-if", str(first(steps, node)))
    assert replay.returncode == 0, replay.stderr
    assert cause in replay.stdout.splitlines()[-1]
    dbg = subprocess.run(
        [GRAPHDBG, "dbg", "--batch", "--no-init", "--ex", "whatif", str(first(steps, node))],
        **{"capture_output": True, "text": True, "env": clean_environment()},
    )
    assert dbg.stdout.splitlines()[-1] == replay.stdout.splitlines()[-1]


def test_a_bundle_is_debugged_both_ways(steps: Path) -> None:
    commands = "reverse-stepi\nreverse-stepi\nstepi\nquit\n"
    debug = subprocess.run(
        [GRAPHDBG, "replay", "--debug", str(first(steps, "forward_log_softmax_log"))],
        **{"input": commands, "capture_output": True, "text": True, "env": clean_environment()},
    )
    assert debug.returncode == 0, debug.stderr
    assert "after forward/log_softmax/_softmax" in debug.stdout.replace("softmax/softmax", "softmax/_softmax")


# Memory is changed from outside of PyTorch, as by a fault, between the op that makes it and the one that reads it.
FAULTS = """
import numpy, torch
from torch import nn

class Model(nn.Module):
    def forward(self, x, place):
        y = x.exp()
        # An exponent of ones is that of infinities and NaN.
        y.detach().numpy().view(numpy.uint32).flat[place] |= 0x7F800000
        return y.log()

model = Model()
weight = nn.Parameter(torch.randn(8, 8))
optimizer = torch.optim.SGD([weight], lr=0.1)
for step in range(20):
    model(weight, 3 * step)
    weight.grad = torch.ones_like(weight)
    optimizer.step()
"""


def test_faults_in_memory_do_not_fail_again(debug_run: Callable[..., Finished], tmp_path: Path) -> None:
    script, config = tmp_path / "fault.py", tmp_path / "job.yaml"
    script.write_text(FAULTS)
    config.write_text("capture: {keep: 100}\n")
    run = debug_run(
        *("--no-wait", "--on-hit", "continue", "--break-on", "nan,inf:absorbed=stop", "--config", str(config)),
        *("--capture", str(tmp_path / "b")),
        command=[sys.executable, str(script)],
    )
    files = [file for file in run.result["artifacts"] if "_log" in file]
    assert len(files) == 20
    for file in files:
        with BundleFile(Path(file)) as bundle:
            assert (bundle.manifest["level"], run_bundle(bundle)["verdict"]) == ("step", "does not fail")
    replay = graphdbg_program("replay", files[0])
    assert replay.returncode == 1, replay.stdout
    assert "does not fail" in replay.stdout and "written from outside of PyTorch" in replay.stdout


def test_an_operator_that_is_not_loaded_is_named(debug_run: Callable[..., Finished], tmp_path: Path) -> None:
    (tmp_path / "mylib.py").write_text(
        "import torch\n"
        "library = torch.library.Library('mylib', 'DEF')\n"
        "library.define('twice(Tensor x) -> Tensor')\n"
        "library.impl('twice', lambda x: x * 2, 'CPU')\n"
    )
    script = tmp_path / "custom.py"
    script.write_text(
        "import torch, mylib\n"
        "weight = torch.nn.Parameter(torch.full((4,), 3e38))\n"
        "optimizer = torch.optim.SGD([weight], lr=0.1)\n"
        "for _ in range(2):\n"
        "    weight.grad = torch.ops.mylib.twice(weight.detach() / 4).mul(0)\n"
        "    big = torch.ops.mylib.twice(weight.detach())\n"
        "    optimizer.step()\n"
    )
    run = debug_run(
        *("--no-wait", "--on-hit", "terminate", "--break-on", "inf:absorbed=stop", "--capture", str(tmp_path / "b")),
        command=[sys.executable, str(script)],
        PYTHONPATH=f"{tmp_path}:{sys.path[0]}:{':'.join(filter(None, sys.path))}",
    )
    (file,) = run.result["artifacts"]
    replay = graphdbg_program("replay", file)
    assert replay.returncode == 3 and "mylib::twice" in replay.stderr and "pass --import" in replay.stderr
