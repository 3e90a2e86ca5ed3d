"""Trainings that do not learn are stopped under `--break-on not_training`, and sound ones are not."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from conftest import HOSTS

# By fault: the condition that finds it, the node, the code of the line, and a part of the message.
FAULTS: dict[str, tuple[str, str, str, str]] = {
    "broadcast": ("loss_broadcast", "forward/mean", "y.float()) ** 2", "gives [16, 16]"),
    "mse_broadcast": ("loss_broadcast", "forward/mse_loss", "F.mse_loss", "labels of shape [16]"),
    "one_class": ("output_constant", "forward/nll_loss_forward", "log_softmax(out, 1)", "dimension of size 1"),
    "detached": ("loss_detached", "forward/detach", "loss.detach()", "computed from no parameter"),
    "detached_part": ("gradient_missing", "forward/first/weight", "def forward", "first.weight and 3 others"),
    "data_used": ("gradient_missing", "forward/scale", "def forward", "does not depend on it"),
    "forgotten_layer": ("gradient_missing", "forward/unused/weight", "def forward", "unused.weight and 1 other"),
    "dead": ("gradient_always_zero", "forward/unused/weight", "def forward", "exactly zero"),
    "constant": ("output_constant", "forward/last/addmm", "", "same for all samples"),
    "not_given": ("parameter_not_optimized", "forward/unused/weight", "optimizer =", "none has been given"),
    "stale": ("parameter_not_optimized", "forward/last/weight", "optimizer =", "an older copy"),
    "zero_rate": ("learning_rate_not_positive", "forward/scale", "optimizer.step()", "is zero"),
    "negative_rate": ("learning_rate_not_positive", "forward/scale", "optimizer.step()", "-0.1"),
    "tiny_rate": ("update_without_effect", "forward/scale", "optimizer.step()", "1e-12"),
    "bf16": ("update_without_effect", "forward/scale", "optimizer.step()", "bfloat16"),
    "autocast": ("autocast_without_effect", "forward/scale", "out = model(x)", "disabled"),
    "same_batch": ("batch_repeated", "forward/x", "next(iter(loader))", "the same batch"),
    "no_zero_grad": ("gradient_not_reset", "forward/last/bias", "optimizer.step()", "zero_grad() is missing"),
    "eval_mode": ("wrong_mode", "forward/scale", "out = model(x)", "train() is missing"),
    "train_evaluation": ("wrong_mode", "forward/scale", "model(x)", "eval() is missing"),
}
# By fault that begins in step 200: the condition that finds it, and the node.
LATE_FAULTS = {
    "zero_rate": ("learning_rate_not_positive", "forward/first/weight"),
    "tiny_rate": ("update_without_effect", "forward/first/weight"),
    "eval_mode": ("wrong_mode", "forward/first/weight"),
    "train_evaluation": ("wrong_mode", "forward/first/weight"),
    "no_zero_grad": ("gradient_not_reset", "forward/last/bias"),
    "replaced": ("parameter_not_optimized", "forward/last/weight"),
    "added": ("parameter_not_optimized", "forward/more/weight"),
    "detached": ("loss_detached", "forward/first/weight"),
    "same_batch": ("batch_repeated", "forward/x"),
}
# Each shows a symptom of a faulty training and is none.
SOUND = [
    "gan",
    "warmup",
    "accumulation",
    "lbfgs",
    "full_batch",
    "low_rank",
    "teacher",
    "averaging",
    "experts",
    "evaluation",
    "frozen_norm",
    "by_hand",
    "pairwise",
    "regression",
    "perfect",
    "autocast",
]


def run_of(debug_run: Any, script: str, name: str, *options: str) -> Any:
    command = [sys.executable, "-W", "ignore", str(HOSTS / script), name]
    return debug_run("--no-wait", "--break-on", "not_training", *options, command=command, OMP_NUM_THREADS="1")


@pytest.mark.parametrize("fault", FAULTS)
def test_it_is_found_within_a_few_steps(debug_run, fault: str) -> None:
    condition, node, code, message = FAULTS[fault]
    hits = run_of(debug_run, "not_training.py", fault, "--on-hit", "continue").result["hits"]
    (hit,) = (hit for hit in hits if hit["condition"] == condition and hit["node"] == node)
    assert hit["step"] <= 5
    assert message in hit["message"]
    assert code in hit["source"]["text"]
    # Nothing else is blamed but what follows from the fault.
    assert {each["condition"] for each in hits} <= {condition, "gradient_always_zero"}


@pytest.mark.parametrize("fault", LATE_FAULTS)
def test_one_that_begins_later_is_found_within_three_steps(debug_run, fault: str) -> None:
    run = run_of(debug_run, "late_faults.py", fault, "--on-hit", "continue")
    hits = run.result["hits"]
    assert LATE_FAULTS[fault] in {(hit["condition"], hit["node"]) for hit in hits}, run.stderr
    assert {hit["condition"] for hit in hits} == {LATE_FAULTS[fault][0]}
    assert 200 <= min(hit["step"] for hit in hits) <= 203


def test_the_job_stops_at_the_end_of_the_step_and_the_cause_is_printed(debug_run) -> None:
    run = run_of(debug_run, "not_training.py", "broadcast", "--on-hit", "terminate")
    assert run.result["status"] == "terminated"
    assert run.result["steps"] == 1
    assert "graphdbg:   found   the loss compares outputs of shape [16, 1]" in run.stderr
    assert "graphdbg:   try     Remove it by output.squeeze(1)" in run.stderr


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_training_has_no_finding(debug_run, name: str) -> None:
    run = run_of(debug_run, "sound_trainings.py", name, "--on-hit", "terminate")
    assert run.result["hits"] == []
    assert run.result["status"] == "finished"
    assert "no longer tested" not in run.stderr


def test_the_adapter_in_python_finds_them_too(debug_run) -> None:
    command = [sys.executable, "-W", "ignore", str(HOSTS / "not_training.py"), "no_zero_grad"]
    options = ("--no-wait", "--break-on", "not_training", "--on-hit", "continue")
    run = debug_run(*options, command=command, GRAPHDBG_ADAPTER="python")
    assert {hit["condition"] for hit in run.result["hits"]} == {"gradient_not_reset"}
