"""`graphdbg run`: what users see, and that the job is not affected."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import GRAPHDBG, HOSTS, clean_environment, losses, marked_line

DIGITS = HOSTS / "digits_cnn.py"
PYTHON = sys.executable


def test_demo_job_stops_at_the_logarithm(debug_run) -> None:
    run = debug_run("--no-wait", "--break-on", "nan,inf", "--on-hit", "terminate", command=[PYTHON, str(DIGITS)])
    assert run.result["status"] == "terminated"
    hit = run.result["hits"][0]
    assert hit["node"] == "forward/log"
    assert hit["op_type"] == "aten::log"
    assert hit["condition"] == "inf"
    assert hit["origin"] == "origin"
    assert hit["source"]["file"] == str(DIGITS)
    assert hit["source"]["line"] == marked_line(DIGITS, "torch.log(probabilities)")
    assert hit["statistics"]["neg_inf_count"] > 0
    assert hit["statistics"]["nan_count"] == 0
    assert run.result["steps"] == hit["step"] - 1 > 1
    assert run.code == run.result["exit_code"] == 143
    assert "forward/log" in run.stderr and "digits_cnn.py" in run.stderr
    assert "graphdbg:   try     Replace log(softmax(x)) by log_softmax(x)" in run.stderr


@pytest.mark.long(but=["masked_transformer"])
@pytest.mark.parametrize("script", ["digits_cnn.py", "masked_transformer.py"])
def test_losses_are_the_same_to_the_bit(debug_run, script: str) -> None:
    command = [PYTHON, str(HOSTS / script)]
    plain = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, check=True)
    watched = debug_run("--no-wait", "--break-on", "nan,inf", "--on-hit", "continue", command=command)
    assert watched.code == 0
    assert watched.result["status"] == "finished"
    assert len(losses(plain.stdout)) > 5
    assert losses(watched.stdout) == losses(plain.stdout)


SMALL_STEPS = """
import torch
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(60):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
"""


def test_the_result_has_the_share_of_time_in_graphdbgs_code(debug_run) -> None:
    run = debug_run("--no-wait", "--break-on", "nan", command=[PYTHON, "-c", SMALL_STEPS])
    assert 0 < run.result["overhead"] < 1
    assert run.result["jobs"][0]["overhead"] == run.result["overhead"]


def test_infinities_of_masks_are_no_hits(debug_run) -> None:
    run = debug_run("--no-wait", "--break-on", "nan,inf", command=[PYTHON, str(HOSTS / "masked_transformer.py")])
    assert run.result["hits"] == []
    assert run.result["status"] == "finished"


def test_steps_option_ends_the_job_after_that_many(debug_run) -> None:
    run = debug_run("--steps", "3", command=[PYTHON, str(DIGITS)])
    assert run.result["status"] == "terminated"
    assert run.result["steps"] == 3
    assert 2 <= len(losses(run.stdout)) <= 3


def test_job_gets_its_exit_code_and_output_through(debug_run, tmp_path: Path) -> None:
    script = tmp_path / "exits.py"
    script.write_text("import sys, torch\nprint('to stdout')\nprint('to stderr', file=sys.stderr)\nsys.exit(7)\n")
    run = debug_run("--no-wait", command=[PYTHON, str(script)])
    assert run.code == run.result["exit_code"] == 7
    assert run.result["status"] == "failed"
    assert run.stdout == "to stdout\n"
    assert "to stderr\n" in run.stderr


def test_script_that_fails_at_import_is_reported(debug_run, tmp_path: Path) -> None:
    script = tmp_path / "broken.py"
    script.write_text("import torch\nimport a_module_that_is_not_there\n")
    run = debug_run("--no-wait", command=[PYTHON, str(script)])
    assert run.code == 1
    assert run.result["status"] == "failed"
    assert run.result["exception"]["type"] == "ModuleNotFoundError"
    assert "a_module_that_is_not_there" in run.result["exception"]["message"]
    assert "broken.py" in run.result["exception"]["traceback"]


def test_exception_in_training_is_reported(debug_run, tmp_path: Path) -> None:
    script = tmp_path / "shapes.py"
    script.write_text("import torch\nnet = torch.nn.Linear(3, 2)\nnet(torch.ones(1, 3))\nnet(torch.ones(1, 4))\n")
    run = debug_run("--no-wait", command=[PYTHON, str(script)])
    assert run.result["status"] == "failed"
    assert run.result["exception"]["type"] == "RuntimeError"
    assert "shapes cannot be multiplied" in run.result["exception"]["message"]


def test_the_result_has_the_scalars_that_the_program_saved(debug_run, tmp_path: Path) -> None:
    script = tmp_path / "saves.py"
    script.write_text("""
import graphdbg, torch
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    model(torch.ones(4, 2)).square().mean().backward()
    optimizer.step()
    graphdbg.save_scalar("accuracy", step / 4)
raise ValueError("too low")
""")
    run = debug_run("--no-wait", command=[sys.executable, str(script)])
    assert run.result["status"] == "failed" and run.result["metrics"] == {"accuracy": 0.5}


def test_script_without_torch_just_runs(debug_run) -> None:
    run = debug_run("--no-wait", command=[PYTHON, "-c", "print('hello')"])
    assert run.code == 4
    assert run.result["exit_code"] == 0
    assert run.stdout == "hello\n"
    assert run.result["status"] == "finished"
    assert "nothing was debugged" in run.stderr


@pytest.mark.parametrize(
    ("arguments", "pattern"),
    [
        (["run"], "missing command"),
        (["run", "--break-on", "nann", "--", "true"], "unknown condition 'nann'"),
        (["run", "--break-on", "max_gt", "--", "true"], "--break-on: .*max_gt.*value"),
        (["run", "--break-on", "max_gt:high", "--", "true"], "value of 'max_gt' must be a number, not 'high'"),
        (["run", "--break-on", "tensor_all_zero:120", "--", "true"], "--break-on: .*100.*120"),
        (["run", "--break-on", "expr:max(mean, 1) > x", "--", "true"], '--break-on: .*16.*"x"'),
        (["run", "--steps", "0", "--", "true"], "whole number of at least 1"),
        (["run", "--", "no-such-program-here"], "cannot run no-such-program-here"),
        (["run", "--result", "/no/such/folder/r.json", "--", "true"], "no such directory: /no/such/folder"),
        (["nonsense"], "invalid choice"),
        (["show", "runs/x", "--ste", "1"], "unrecognized arguments: --ste"),
    ],
)
def test_wrong_usage_is_named_and_exits_2(arguments: list[str], pattern: str) -> None:
    run = subprocess.run([GRAPHDBG, *arguments], env=clean_environment(), capture_output=True, text=True, timeout=60)
    assert run.returncode == 2
    assert re.search(pattern, run.stderr)
    assert "Traceback" not in run.stderr


def test_fork_workers_do_not_disturb(debug_run, tmp_path: Path) -> None:
    script = tmp_path / "workers.py"
    script.write_text(
        "import torch\n"
        "from torch.utils.data import DataLoader, TensorDataset\n"
        "torch.manual_seed(0)\n"
        "data = TensorDataset(torch.randn(64, 4), torch.randint(3, (64,)))\n"
        "net = torch.nn.Linear(4, 3)\n"
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "for epoch in range(2):\n"
        "    for x, y in DataLoader(data, batch_size=16, num_workers=2):\n"
        "        loss = torch.nn.functional.cross_entropy(net(x), y)\n"
        "        opt.zero_grad(); loss.backward(); opt.step()\n"
        "        print(f'step loss {loss.item():.9g}')\n"
    )
    run = debug_run("--no-wait", "--break-on", "nan", command=[PYTHON, str(script)])
    assert run.code == 0
    assert run.result["steps"] == 8
    plain = subprocess.run([PYTHON, str(script)], env=clean_environment(), capture_output=True, text=True, check=True)
    assert losses(run.stdout) == losses(plain.stdout)


def test_run_local_gives_the_same_result_object() -> None:
    import graphdbg

    result = graphdbg.run_local([PYTHON, str(DIGITS)], break_on=["inf"], on_hit="terminate")
    assert result["status"] == "terminated"
    assert result["hits"][0]["node"] == "forward/log"
