"""Trainings that do not learn are stopped under `--break-on not_training`, and sound ones are not."""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
from typing import Any

import pytest
from conftest import HOSTS, clean_environment

# For each fault: the condition that finds it, the node, the code of the line, and a part of the message.
Faults = dict[str, tuple[str, str, str, str]]
FAULTS: Faults = {
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
    "stale": ("parameter_not_optimized", "forward/last/weight", "optimizer =", "has older ones"),
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
# For each fault that begins in step 200: the condition that finds it, and the node.
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
MORE_FAULTS: Faults = {
    "only_decay": ("update_without_effect", "forward/0/weight", "optimizer.step()", "beyond weight decay"),
    "zero_group": ("learning_rate_not_positive", "forward/0/weight", "optimizer.step()", "was given a learning rate"),
    "zero_tensor_rate": ("learning_rate_not_positive", "forward/0/weight", "optimizer.step()", "is zero"),
    "attention_dropout": ("wrong_mode", "forward/head/weight", "dropout_p=0.2", "unless self.training"),
    "functional_dropout": ("wrong_mode", "forward/head/weight", "F.dropout(x, 0.2)", "training=self.training"),
    "recurrent_in_evaluation": ("wrong_mode", "forward/rnn/weight_ih_l0", "model(x)", "train() is missing"),
    "short_validations": ("wrong_mode", "forward/0/weight", "model(x)", "eval() is missing"),
    "fixed_validation": ("wrong_mode", "forward/0/weight", "model(inputs)", "eval() is missing"),
    "validation_with_gradients": ("wrong_mode", "forward/0/weight", "model(x), y).item()", "no backward pass uses"),
    "validation_in_two_parts": ("wrong_mode", "forward/encoder/0/weight", "head(encoder(x))", "eval() is missing"),
    "pretrained_part": ("wrong_mode", "forward/body/0/weight", "model(x)", "body (Sequential)"),
    "constant_single": ("output_constant", "forward/2/threshold", "", "in all of the first 4 calls"),
    "one_class_single": ("output_constant", "forward/nll_loss_forward", "F.cross_entropy", "dimension of size 1"),
    "list_of_layers": ("parameter_not_optimized", "forward/Linear/weight", "optimizer =", "nn.ModuleList"),
    "new_layer": ("parameter_not_optimized", "forward/Linear/weight", "nn.Linear(8, 8)(x)", "in __init__"),
    "stale_moved": ("parameter_not_optimized", "forward/0/weight", "optimizer =", "has older ones"),
    "stale_head": ("parameter_not_optimized", "forward/3/weight", "optimizer =", "has older ones"),
    "stale_sharded": ("parameter_not_optimized", "forward/0/weight", "optimizer =", "sharded"),
    "loss_in_model": ("loss_broadcast", "forward/mse_loss", "F.mse_loss(self.head(x)", "labels of shape [16]"),
    "sample_weights": ("loss_broadcast", "forward/mean", "* weights", "weights of shape [16, 1]"),
    "softmax_twice": ("loss_normalized_twice", "forward/nll_loss_forward", "loss_of(model(x), y)", "softmax"),
    "sigmoid_twice": ("loss_normalized_twice", "forward/binary_cross_entropy_with_logits", "", "sigmoid"),
    "images": ("loss_broadcast", "forward/mse_loss", "model(x)", "gives [4, 4, 6, 6]"),
    "dropped_cast": ("cast_without_effect", "forward/input", "x.bfloat16()", "x is still float32"),
    "dropped_cast_in_forward": ("cast_without_effect", "forward/x", "x.to(torch.float64)", "x is still float32"),
    "no_backward": ("loss_detached", "forward/0/weight", "optimizer.step()", "backward() is missing"),
    "reset_before_step": ("loss_detached", "forward/0/weight", "optimizer.step()", "before step()"),
    "rounded": ("gradient_always_zero", "forward/encoder/bias", "def forward", "round() has a gradient of zero"),
    "attention_over_one": ("gradient_always_zero", "forward/score/bias", "def forward", "dimension of size 1"),
    "plain_tensor": ("parameter_not_optimized", "forward/head/weight", "optimizer =", "gradients reach token"),
    "advantages": ("loss_broadcast", "forward/neg", "advantage", "the differences of [16] and [16, 1]"),
    "step_not_called": ("parameter_not_optimized", "forward/0/weight", "optimizer =", "step() is missing"),
    "only_one_optimizer_steps": ("parameter_not_optimized", "forward/encoder/weight", "", "step() is missing"),
    "step_only_named": ("parameter_not_optimized", "forward/0/weight", "optimizer =", "reset 3 times"),
    "step_of_the_scheduler_only": ("parameter_not_optimized", "forward/0/weight", "optimizer =", "reset 3 times"),
    "step_never_reached": ("parameter_not_optimized", "forward/0/weight", "optimizer =", "reset 12 times"),
    "restored_checkpoint": ("update_without_effect", "forward/0/weight", "load_state_dict(start)", "restores the"),
    "copied_back": ("update_without_effect", "forward/model/0/weight", "optimizer.step()", "restores the weights"),
    "rate_falls_in_each_step": ("update_without_effect", "forward/0/weight", "optimizer.step()", "fallen from 0.1"),
    "clipped_to_zero": ("gradient_always_zero", "forward/3/bias", "model(x)", "as by clip_grad_norm_()"),
    "dead_layer": ("gradient_always_zero", "forward/head/weight", "def forward", "relu() returns only zeros"),
    "parameters_of_another_model": ("loss_detached", "forward/policy/weight", "of_value =", "same parameters"),
    "reset_by_one_optimizer": ("gradient_not_reset", "forward/encoder/bias", "", "zero_grad() is missing"),
    "compiled": ("loss_broadcast", "forward/mean", "F.l1_loss", "gives [16, 16]"),
}
# Mistakes that users have reported.
REPORTED_FAULTS: Faults = {
    "smoothed_away": ("loss_ignores_labels", "forward/add", "label_smoothing=1.0", "multiplied by zero"),
    "softmax_over_the_batch": ("loss_wrong_dimension", "forward/nll_loss_forward", "", "softmax is over dimension 0"),
    "dropout_in_forward": ("wrong_mode", "forward/first/weight", "nn.Dropout(0.5)", "has not registered it"),
    "dropouts_in_list": ("wrong_mode", "forward/head/weight", "dropout(x)", "eval() does not reach it"),
    "weights_in_list": ("parameter_not_optimized", "forward/head/weight", "optimizer =", "nn.ParameterList"),
    "weights_in_dict": ("parameter_not_optimized", "forward/head/weight", "optimizer =", "gradients reach tables.key"),
    "new_parameter_in_each_call": ("parameter_not_optimized", "forward/scale", "def forward", "is a new parameter"),
    "autocast_not_entered": ("autocast_without_effect", "forward/weight", "torch.autocast(", "`with` is missing"),
    "everything_masked": ("gradient_always_zero", "forward/key/bias", "def forward", "key.bias and 3 others"),
    "divided_integers": ("gradient_always_zero", "forward/0/weight", "model(x)", "0.weight is exactly zero"),
    "sampled_by_normal": ("gradient_always_zero", "forward/encoder/bias", "def forward", "encoder.bias and 1 other"),
    "generator_without_gradient": ("loss_detached", "forward/generator/0/weight", "of_generator.step()", "not depend"),
    "warm_up_of_integers": ("learning_rate_not_positive", "forward/weight", "optimizer.step()", "is zero in 3"),
    "checkpointed": ("gradient_missing", "forward/body/0/weight", "def forward", "body.0.weight and 1 other"),
    "step_before_backward": ("loss_detached", "forward/weight", "optimizer.step()", "before step()"),
    "norm_of_one": ("output_constant", "forward/squeeze", "", "the same for all samples"),
    "index_ignored": ("batch_repeated", "forward/input", "in batches", "the same batch 3 times"),
    "losses_rebuilt": ("loss_detached", "forward/weight", "optimizer.step()", "no parameter of Adam"),
    "argmax_inside": ("gradient_missing", "forward/encoder/weight", "def forward", "encoder.weight and 1 other"),
    "saturated_inputs": ("gradient_always_zero", "forward/0/bias", "model(x)", "0.bias and 1 other"),
    "replaced_by_a_copy": ("parameter_not_optimized", "forward/model/0/weight", "optimizer =", "has older ones"),
}
# Each shows a symptom of a faulty training but is sound.
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
    "gan_accumulation",
    "siamese",
    "zero_head",
    "unfreezing",
    "decayed_rate",
    "monte_carlo_dropout",
    "policy_gradient",
    "triplets",
    "generator_samples",
    "compared_scores",
    "force_field",
    "tasks_in_turn",
    "tasks_with_kept_gradients",
    "empty_images",
    "trained_input",
    "converged_search",
    "ensemble",
    "skipped_layers",
    "adversarial",
    "late_generator",
    "differential_equation",
    "optimizers_in_turn",
    "importance_before_training",
    "sharpness_aware",
    "rate_search",
    "averages_for_evaluation",
    "meta_learning",
]
# For each condition, a part of its advice.
ADVICE = {
    "gradient_always_zero": "output",
    "gradient_missing": "set requires_grad to False",
    "parameter_not_optimized": "Create the optimizer after the model is complete",
    "update_without_effect": "weights in float32",
    "learning_rate_not_positive": "Print the learning rate of each parameter group",
    "gradient_not_reset": "Call optimizer.zero_grad()",
    "loss_detached": "Look at grad_fn of the loss",
    "loss_broadcast": "output.squeeze(1)",
    "loss_normalized_twice": "Remove it from the model",
    "loss_ignores_labels": "label smoothing from 0 to 0.2",
    "loss_wrong_dimension": "log_softmax(output, dim=1)",
    "output_constant": "for two samples",
    "wrong_mode": "Pass training=self.training",
    "batch_repeated": "keep its iterator",
    "autocast_without_effect": "torch.autocast",
    "cast_without_effect": "x = x.half()",
}


@functools.cache
def results_of(script: str, names: tuple[str, ...], **environment: str) -> dict[str, Any]:
    """The result objects of trainings that one process runs one after another, by name."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(HOSTS / "each_training.py"), str(HOSTS / script), *names],
        capture_output=True,
        text=True,
        timeout=900,
        env=clean_environment(OMP_NUM_THREADS="1", **environment),
    )
    assert done.returncode == 0, done.stderr
    assert "no longer tested" not in done.stderr
    found = dict(re.findall(r"^(\w+) ({.*})$", done.stdout, re.MULTILINE))
    return {name: json.loads(found[name]) for name in names}


def check_fault(result: dict[str, Any], fault: tuple[str, str, str, str]) -> Any:
    """Checks the hit that is expected, and returns it."""
    condition, node, code, message = fault
    hits = result["hits"]
    (hit,) = (hit for hit in hits if hit["condition"] == condition and hit["node"] == node)
    assert message in hit["message"]
    assert code in hit["source"]["text"]
    # There are no other findings except consequences of the fault. A model whose optimizer was given another one's
    # parameters is in no optimizer.
    consequences = {"gradient_always_zero"} | ({"parameter_not_optimized"} if "same parameters" in message else set())
    assert {each["condition"] for each in hits} <= {condition, *consequences}
    return hit


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_within_a_few_steps(fault: str) -> None:
    result = results_of("not_training.py", tuple(FAULTS))[fault]
    # The first evaluation is behind step 4.
    assert check_fault(result, FAULTS[fault])["step"] <= (5 if fault == "train_evaluation" else 4)


@pytest.mark.long
@pytest.mark.parametrize("fault", MORE_FAULTS)
def test_more_faults_are_found(fault: str) -> None:
    check_fault(results_of("training_faults.py", tuple(MORE_FAULTS))[fault], MORE_FAULTS[fault])


@pytest.mark.parametrize("fault", REPORTED_FAULTS)
def test_mistakes_that_users_have_reported_are_found_within_three_steps(fault: str) -> None:
    result = results_of("reported_faults.py", tuple(REPORTED_FAULTS))[fault]
    assert check_fault(result, REPORTED_FAULTS[fault])["step"] <= 4


@pytest.mark.parametrize("fault", LATE_FAULTS)
def test_a_fault_that_begins_later_is_found_within_three_steps(fault: str) -> None:
    hits = results_of("late_faults.py", tuple(LATE_FAULTS))[fault]["hits"]
    assert LATE_FAULTS[fault] in {(hit["condition"], hit["node"]) for hit in hits}
    assert {hit["condition"] for hit in hits} == {LATE_FAULTS[fault][0]}
    assert 200 <= min(hit["step"] for hit in hits) <= 203


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_training_has_no_finding(name: str) -> None:
    result = results_of("sound_trainings.py", tuple(SOUND))[name]
    assert result["hits"] == []
    assert result["status"] == "finished"


@pytest.mark.parametrize("fault", ["no_zero_grad", "eval_mode", "stale", "data_used"])
def test_the_adapter_in_python_finds_them_too(fault: str) -> None:
    # This adapter debugs only one job in a process.
    hits = results_of("not_training.py", (fault,), GRAPHDBG_ADAPTER="python")[fault]["hits"]
    condition, _, _, message = FAULTS[fault]
    assert {hit["condition"] for hit in hits} == {condition}
    assert message in hits[0]["message"]


def test_the_job_stops_at_the_end_of_the_step_and_the_cause_is_printed(debug_run) -> None:
    command = [sys.executable, "-W", "ignore", str(HOSTS / "not_training.py"), "broadcast"]
    options = ("--no-wait", "--break-on", "not_training", "--on-hit", "terminate")
    run = debug_run(*options, command=command, OMP_NUM_THREADS="1")
    assert run.result["status"] == "terminated"
    assert run.result["steps"] == 1
    assert "graphdbg:   found   the loss compares outputs of shape [16, 1]" in run.stderr
    assert "graphdbg:   try     Remove the dimension by output.squeeze(1)" in run.stderr


def test_every_condition_has_advice(server) -> None:
    conditions = server.client.get("/conditions")["conditions"]
    # test_replicas.py tests replicas_differ, which needs several ranks.
    training = {each["id"] for each in conditions if each["target"] == "training"}
    assert training - {"replicas_differ"} == set(ADVICE)
    for condition, text in ADVICE.items():
        advice = server.client.get(f"/conditions/{condition}/advice")
        assert advice["causes"]
        assert any(text in each for each in advice["next"]), condition
