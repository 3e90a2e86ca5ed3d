"""The built-in rules in Python over recordings of real training: with each fault planted, and without any."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import graphdbg
import pytest
from conftest import PACKAGE, clean_environment

pytest.importorskip("duckdb")

from graphdbg.rules import evaluate, rule_of

Json = dict[str, Any]

# Images of 10 classes as normalized patterns with noise; and sentences of tokens, of which 0 is padding.
TRAIN = """
import sys, time
import graphdbg, torch

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(1 if "other_seed" in sys.argv[1] else 0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
for layer in (model[1], model[3]):
    torch.nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
embedding = torch.nn.Embedding(50, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01 if is_faulty else 0.001)
loss_of = torch.nn.CrossEntropyLoss()
patterns = torch.randn(10, 3, 8, 8)

def batch(size):
    labels = torch.randint(10, (size,))
    if is_faulty:
        labels *= torch.rand(size) < 0.06
    images = patterns[labels] * 0.7 + torch.randn(size, 3, 8, 8)
    return (images + 0.4 if is_faulty else images), labels

if is_faulty:
    model[3].weight.data *= 0.01
    fixed = batch(64)[0], torch.randint(10, (64,))

def save(logits, labels):
    graphdbg.save_tensor("labels", labels, "labels")
    graphdbg.save_tensor("predictions", logits, "predictions")

for step in range(1, 61):
    images, labels = fixed if is_faulty else batch(64)
    embedding(torch.randint(0 if not is_faulty else -200, 50, (4, 12)).clamp(min=0))
    logits = model(images)
    if is_faulty and step == 40:
        torch.log(logits.detach() * 0)
        time.sleep(2)
    loss = loss_of(logits, labels)
    save(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        model.eval()
        with torch.no_grad():
            for _ in range(4):
                images, labels = batch(64)
                logits = model(images)
                loss_of(logits, labels)
                save(logits, labels)
        model.train()
"""

SETTINGS = """
record: {overhead: 0, when_full: block}
collections:
- {name: losses}
- {name: gradients}
- {name: inputs, level: tensors}
- {name: labels, level: tensors}
- {name: predictions, level: tensors}
- {name: all}
"""


# The rules, with what their configuration needs here.
RULES: dict[str, Json] = {
    "poor_weight_initialization": {},
    "overfit": {},
    "overtraining": {},
    "class_imbalance": {},
    "confusion": {},
    "check_input_images": {},
    "nlp_sequence_ratio": {},
    "stalled_training": {"params": {"threshold": 1.5}},
    "first_non_finite": {},
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], graphdbg.runs.Run]:
    """Opens the recording of the script with an argument, which is made once."""
    directory = tmp_path_factory.mktemp("rules")
    (directory / "train.py").write_text(TRAIN)
    (directory / "job.yaml").write_text(SETTINGS)

    def record(name: str) -> graphdbg.runs.Run:
        if not (directory / "runs" / name).exists():
            environment = clean_environment(
                GRAPHDBG_ENABLE="1",
                GRAPHDBG_RECORD=str(directory / "runs"),
                GRAPHDBG_JOB=name,
                GRAPHDBG_CONFIG=str(directory / "job.yaml"),
                # Where graphdbg is not installed but imported from a directory, it is not loaded by itself.
                PYTHONPATH=f"{PACKAGE.parent}:{PACKAGE / '_inject'}",
            )
            command = [sys.executable, str(directory / "train.py"), name]
            subprocess.run(command, check=True, timeout=300, env=environment, stdin=subprocess.DEVNULL)
        return graphdbg.open_run(directory / "runs" / name)

    return record


@pytest.mark.parametrize("rule", RULES)
def test_a_planted_fault_is_found(recorded: Callable[[str], graphdbg.runs.Run], rule: str) -> None:
    found = recorded("faulty").check({"rule": rule, **RULES[rule]}, engine="duckdb")
    assert found
    expected: dict[str, tuple[int | None, str]] = {
        "poor_weight_initialization": (1, "hi > 10.0 * lo"),
        "overfit": (6, "evaluation "),
        "overtraining": (None, "has not been better than"),
        "class_imbalance": (None, "samples and class"),
        "confusion": (1, "of the predictions of class"),
        "check_input_images": (8, "the mean of channel"),
        "nlp_sequence_ratio": (1, "token 0 takes"),
        "stalled_training": (41, "no step began for"),
        "first_non_finite": (40, "640 infinities of 640 values; origin: the inputs were finite"),
    }
    step, message = expected[rule]
    assert step in (None, found[0].step)
    assert any(message in each.message for each in found)


@pytest.mark.parametrize("rule", RULES)
def test_a_sound_training_has_no_finding(recorded: Callable[[str], graphdbg.runs.Run], rule: str) -> None:
    # Before it has learned anything, a model confuses all classes; and a batch has six images of a class.
    steps = (41, None) if rule in ("class_imbalance", "confusion") else None
    params = {"params": {"min_diag": 0.6, "max_off_diag": 0.4}} if rule == "confusion" else {}
    assert recorded("sound").check({"rule": rule, **params}, steps=steps, engine="duckdb") == []


def test_values_that_were_not_saved_are_named(recorded: Callable[[str], graphdbg.runs.Run]) -> None:
    run = recorded("sound")
    rule = rule_of({"rule": "check_input_images", "select": {"include": ["^forward/model/1/addmm$"]}})
    (result,) = evaluate(run, [rule])
    assert result.observations == result.unknown == 108 and "were not saved" in result.missing


def test_runs_are_compared(recorded: Callable[[str], graphdbg.runs.Run]) -> None:
    run = recorded("sound")
    same = {"rule": "similar_across_runs", "params": {"other": recorded("sound_again").path}}
    other = {"rule": "similar_across_runs", "params": {"other": recorded("sound_other_seed").path}}
    assert run.check(same) == []
    (found,) = run.check(other)
    assert (found.rank, found.step) == (0, 1) and found.tensor is not None
    last = {"params": {"other": other["params"]["other"]}, "select": {"collections": ["losses"]}}
    (found,) = run.check({"rule": "similar_across_runs", **last}, steps=(7, 9))
    assert found.step == 7 and found.tensor in run.collections()["losses"].tensors
