"""`graphdbg check`: each script fails at another stage, and the report shows where and why."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import GRAPHDBG, HOSTS, SYSTEM_PYTHON, Json, clean_environment, losses, marked_line
from graphdbg.cli.check.advice import RULES
from graphdbg.cli.check.records import STAGES

SCRIPTS = HOSTS / "check"
PYTHON = sys.executable


def check(*options: str, command: list[str], **environment: str) -> tuple[int, Json]:
    """Runs `graphdbg check --json` and returns its exit code and the result object."""
    process = subprocess.run(
        [GRAPHDBG, "check", "--json", *options, "--", *command],
        env=clean_environment(**environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert process.stdout, process.stderr
    result = json.loads(process.stdout)
    result["stderr"] = process.stderr
    return process.returncode, result


def stage(result: Json, name: str) -> Json:
    return next(each for each in result["stages"] if each["name"] == name)


def states(result: Json) -> dict[str, str]:
    return {each["name"]: each["state"] for each in result["stages"]}


def failed_at(script: Path, result: Json, name: str, message: str, advice: str) -> None:
    failed = stage(result, name)
    assert failed["state"] == "failed", states(result)
    assert message in failed["message"]
    assert advice in failed["advice"]
    assert failed["source"] == {"file": str(script), "line": marked_line(script, "# fails here")}


@pytest.mark.long(but=["wrong_argument", "no_super_init", "bad_sample", "diverges"])
@pytest.mark.parametrize(
    ("name", "failing", "message", "advice"),
    [
        ("absent_gpu", "environment", "", "GPU"),
        ("wrong_argument", "environment", "exits with 2", "arguments"),
        ("missing_package", "imports", "No module named 'torch_sparse_attention_kernels'", "python -m pip install"),
        ("no_super_init", "model", "before Module.__init__", "super().__init__()"),
        ("missing_file", "data", "No such file", "digits-of-2019.pt does not exist"),
        ("ragged_samples", "data", "equal size", "collate_fn"),
        ("bad_sample", "data", "KeyError: 'bird'", "num_workers=0"),
        ("workers_without_guard", "data", "bootstrapping phase", '__name__ == "__main__"'),
        ("no_batches", "data", "yields no batch: 50 samples, batch size 64", "drop_last"),
        ("wrong_features", "forward", "(4x16 and 32x3)", "expects 32 features and gets 16"),
        ("wrong_dtype", "forward", "Double", "one dtype"),
        ("wrong_device", "forward", "meta", "same device"),
        ("small_vocabulary", "forward", "index out of range", "num_embeddings"),
        ("handled_error", "forward", "3 channels, but got 1 channels", "in_channels=1"),
        ("label_out_of_range", "loss", "Target 3 is out of bounds", "A label is 3"),
        ("nan_loss", "loss", "the loss is nan", "--break-on nan,inf"),
        ("detached_loss", "backward", "does not require grad", "detach()"),
        ("loss_not_reduced", "backward", "scalar outputs", ".mean()"),
        ("changed_in_place", "backward", "inplace operation", "in-place"),
        ("other_parameters", "backward", "none of the 2 trainable parameters of SGD", "after the model is final"),
        ("layers_in_a_list", "optimizer", "empty parameter list", "nn.ModuleList"),
        ("graph_of_last_step", "second_step", "backward of step 2: ", "detach what is carried over"),
        ("rate_of_zero", "second_step", "changed no weight (learning rate 0)", "schedule"),
        ("last_batch_of_one", "run", "forward of step 5: ", "drop_last=True"),
        ("diverges", "run", "the loss is", "--break-on nan,inf"),
    ],
)
def test_script_fails_at_its_stage(name: str, failing: str, message: str, advice: str) -> None:
    script = SCRIPTS / f"{name}.py"
    code, result = check(command=[PYTHON, str(script)])
    failed_at(script, result, failing, message, advice)
    assert code == 1
    assert result["status"] == "failed"
    assert [each["name"] for each in result["stages"]] == list(STAGES)
    assert next(each for each in STAGES if states(result)[each] == "failed") == failing
    # Stages that passed before are reported as passed.
    assert states(result)["environment"] == ("failed" if failing == "environment" else "passed")
    if STAGES.index(failing) > STAGES.index("model") and failing != "optimizer":
        assert states(result)["model"] == "passed" or failing == "data"


def test_script_without_a_fault_passes() -> None:
    code, result = check(command=[PYTHON, str(SCRIPTS / "trains.py")])
    assert code == 0
    assert set(states(result).values()) == {"passed"}
    assert result["status"] == "finished" and result["exit_code"] == 0 and result["steps"] == 8
    assert stage(result, "model")["facts"]["parameters"] == 8 * 16 + 16 + 16 * 3 + 3
    data = stage(result, "data")["facts"]
    assert data["first_batch_seconds"] > 0 and data["workers"] == 1
    assert [each["shape"] for each in data["batch"]] == [[16, 8], [16]]
    assert stage(result, "forward")["facts"]["outputs"] == [{"dtype": "float32", "shape": [16, 3], "device": "cpu"}]
    assert "4 of 4 parameters have a gradient" in stage(result, "backward")["message"]
    assert stage(result, "optimizer")["facts"]["learning_rates"] == [0.01]
    assert stage(result, "run")["facts"]["memory_bytes"] > 0


def test_forked_ranks_are_told_apart(tmp_path: Path) -> None:
    script = tmp_path / "forks.py"
    script.write_text(
        "import os, torch\n"
        "from torch.multiprocessing import get_context\n"
        "def train(rank):\n"
        "    os.environ['RANK'] = str(rank)\n"
        "    model = torch.nn.Linear(2, 1)\n"
        "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "    for _ in range(2 + rank):\n"
        "        model(torch.ones(1, 2)).sum().backward()\n"
        "        optimizer.step()\n"
        "processes = [get_context('fork').Process(target=train, args=(rank,)) for rank in range(2)]\n"
        "[each.start() for each in processes]\n"
        "[each.join() for each in processes]\n"
    )
    code, result = check(command=[PYTHON, str(script)])
    assert code == 0, states(result)
    assert [(each["rank"], each["steps"]) for each in result["ranks"]] == [(0, 2), (1, 3)]
    assert result["ranks"][0]["pid"] != result["ranks"][1]["pid"]


@pytest.mark.long
@pytest.mark.oldest_torch
def test_oldest_supported_version() -> None:
    code, result = check("--repeat", command=[SYSTEM_PYTHON, str(SCRIPTS / "trains.py")])
    assert code == 0, result["stderr"]
    assert set(states(result).values()) == {"passed"}
    assert result["determinism"]["same"] is True
    script = SCRIPTS / "wrong_features.py"
    _, result = check(command=[SYSTEM_PYTHON, str(script)])
    failed_at(script, result, "forward", "(4x16 and 32x3)", "expects 32 features and gets 16")


def test_report_for_people_and_the_steps_option() -> None:
    process = subprocess.run(
        [GRAPHDBG, "check", "--steps", "3", "--", PYTHON, str(HOSTS / "digits_cnn.py")],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert process.returncode == 0
    lines = process.stdout.splitlines()
    # The program's output passes through; its third step ends before it prints.
    assert [line.split()[1] for line in losses(process.stdout)] == ["1", "2"]
    assert [line.split()[:3] for line in lines[-10:]] == [["ok", name, "passed"] for name in STAGES]
    assert "DigitsNet: 38,282 parameters" in process.stdout
    assert lines[-1].split("passed  ")[1].startswith("3 steps in ")


def test_observed_program_computes_the_same() -> None:
    command = [PYTHON, str(SCRIPTS / "trains.py")]
    plain = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, check=True)
    _, result = check("--repeat", "--steps", "100", command=command)
    printed = [line for line in result["stderr"].splitlines() if line.startswith("epoch")]
    assert printed == plain.stdout.splitlines() and len(printed) == 8
    assert result["determinism"] == {"same": True, "differs": None, "rank": None, "advice": None}


def test_repeat_names_what_differs_first() -> None:
    code, result = check("--repeat", command=[PYTHON, str(SCRIPTS / "unseeded.py")])
    assert code == 1
    assert set(states(result).values()) == {"passed"}
    assert result["determinism"]["same"] is False
    assert result["determinism"]["differs"] == "initial parameters"
    assert "torch.manual_seed" in result["determinism"]["advice"]


def test_killed_program_is_located() -> None:
    code, result = check(command=[PYTHON, str(SCRIPTS / "killed.py")])
    assert code == 1
    assert result["exit_code"] == 137
    assert states(result)["data"] == "passed" and states(result)["forward"] == "failed"
    assert "SIGKILL" in stage(result, "forward")["message"]
    assert "memory" in stage(result, "forward")["advice"]


@pytest.mark.long
def test_program_that_waits_forever_is_ended(tmp_path: Path) -> None:
    script = tmp_path / "waits.py"
    script.write_text(
        "import torch, threading\n"
        "model = torch.nn.Linear(2, 1)\n"
        "model.register_forward_pre_hook(lambda *_: threading.Event().wait())\n"
        "model(torch.ones(1, 2))\n"
    )
    _, result = check("--timeout", "20", command=[PYTHON, str(script)])
    assert states(result)["data"] == "passed" and states(result)["forward"] == "failed"
    assert "still in this stage" in stage(result, "forward")["message"]


@pytest.mark.long
def test_two_ranks_pass() -> None:
    launcher = [PYTHON, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    code, result = check("--steps", "3", command=[*launcher, str(HOSTS / "digits_ddp.py")])
    assert code == 0, result["stderr"]
    assert set(states(result).values()) == {"passed"}
    assert [(each["rank"], each["steps"]) for each in result["ranks"]] == [(0, 3), (1, 3)]


def test_rank_that_fails_is_named() -> None:
    script = SCRIPTS / "one_rank_fails.py"
    launcher = [PYTHON, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    code, result = check(command=[*launcher, str(script)])
    assert code == 1
    failed_at(script, result, "loss", "Target 3 is out of bounds", "A label is 3")
    assert stage(result, "loss")["rank"] == 1
    assert states(result)["forward"] == "passed" and states(result)["run"] == "not_reached"


def test_spawned_rank_that_fails_is_named() -> None:
    script = SCRIPTS / "spawned_rank_fails.py"
    code, result = check(command=[PYTHON, str(script)])
    assert code == 1
    failed_at(script, result, "forward", "(4x9 and 8x3)", "expects 8 features and gets 9")
    assert stage(result, "forward")["rank"] == 1
    assert len(result["ranks"]) == 2


def test_configuration_sets_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "check.yaml"
    file.write_text("environment: {environment_variables: [WIDTH=8]}\n")
    script = tmp_path / "reads.py"
    script.write_text("import os, torch\ntorch.nn.Linear(int(os.environ['WIDTH']), 1)(torch.ones(2, 7))\n")
    _, result = check("--config", str(file), command=[PYTHON, str(script)])
    assert "(2x7 and 8x1)" in stage(result, "forward")["message"]


def test_errors_that_the_program_handles_do_not_count(tmp_path: Path) -> None:
    script = tmp_path / "handles.py"
    script.write_text(
        "import sys, torch\n"
        "try:\n    sys.exit(3)\nexcept SystemExit:\n    pass\n"
        "model = torch.nn.Linear(2, 1)\n"
        "try:\n    model(torch.ones(1, 3))\nexcept RuntimeError:\n    pass\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "model(torch.ones(1, 2)).sum().backward()\n"
        "optimizer.step()\n"
    )
    code, result = check(command=[PYTHON, str(script)])
    assert code == 0, states(result)
    # The second step is not required.
    assert [name for name, state in states(result).items() if state != "passed"] == ["second_step"]
    assert stage(result, "forward")["facts"]["inputs"][0]["shape"] == [1, 2]


@pytest.mark.parametrize(
    ("command", "failing", "message"),
    [
        (["true"], "environment", "no Python program"),
        ([PYTHON, "no_such_script.py"], "environment", "no such script: 'no_such_script.py'"),
        ([PYTHON, "-c", "print('hello')"], "imports", "without importing a framework"),
        ([PYTHON, "-c", "import torch, os; torch.nn.Linear(1, 1); os._exit(5)"], "model", "exit code 5"),
    ],
)
def test_programs_that_do_not_train(command: list[str], failing: str, message: str) -> None:
    code, result = check(command=command)
    assert code == 1
    assert stage(result, failing)["state"] == "failed", states(result)
    assert message in stage(result, failing)["message"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "missing command"),
        (["--steps", "0", "--", "true"], "whole number of at least 1"),
        (["--timeout", "soon", "--", "true"], "number of seconds above 0"),
        (["--config", "/no/such.yaml", "--", "true"], "cannot be read"),
        (["--", "no-such-program-here"], "cannot run no-such-program-here"),
    ],
)
def test_wrong_usage_exits_2(arguments: list[str], message: str) -> None:
    command = [GRAPHDBG, "check", *arguments]
    process = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, timeout=120)
    assert process.returncode == 2
    assert message in process.stderr


def test_every_rule_has_one_sentence_of_advice() -> None:
    assert all(rule.advice == "{install}" or rule.advice.endswith(".") for rule in RULES)
