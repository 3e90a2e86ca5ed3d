"""The built-in rules in Python over recordings of real training: with each fault planted, and without any."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphdbg
import pytest
from conftest import GRAPHDBG, PACKAGE, clean_environment

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
        "poor_weight_initialization": (1, "hi > 10 * lo"),
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


MY_RULES = """
import graphdbg

class Largest(graphdbg.Rule):
    id, title = "largest", "The loss is large"
    params = {"limit": graphdbg.Param(float, 2, min=0)}
    select = graphdbg.Select(collections=["losses"])
    causes = ["It is the first step."]

    def observe(self, state, now):
        loss = now.statistics.mean
        return state, self.finding(f"{loss:.3g}", loss=loss) if loss > self.values["limit"] else None

class Broken(graphdbg.Rule):
    id, title = "broken", "It raises"

    def observe(self, state, now):
        return 1 / (now.step - 3), None
"""


def rules_command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [GRAPHDBG, "rules", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
    )


def test_the_command_evaluates_rules_of_a_file(recorded: Callable[[str], graphdbg.runs.Run], tmp_path: Path) -> None:
    run = recorded("sound").path
    file, config = tmp_path / "my_rules.py", tmp_path / "job.yaml"
    file.write_text(MY_RULES)
    config.write_text("rules:\n- {rule: largest, params: {limit: 1000000}}\n- {when: l2 < 0}\n")
    done = rules_command(run, "--rules-from", file)
    assert done.returncode == 1
    assert done.stdout.splitlines()[1].split()[:4] == ["1", "0", "train", "largest"]
    assert "largest: 2 findings\ngraphdbg:   cause?  It is the first step." in done.stderr
    assert f"broken was switched off: ZeroDivisionError: division by zero ({file}:18)" in done.stderr
    done = rules_command(run, "--rules-from", file, "--rule", "broken", "--json")
    assert done.returncode == 1
    (rule,) = json.loads(done.stdout)["rules"]
    assert rule["finding_count"] == 0 and rule["error"].startswith("ZeroDivisionError")
    done = rules_command(run, "--rules-from", file, "--config", config, "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["findings"] == []
    file.write_text(MY_RULES.replace('id, title = "broken"', 'id, title = "Broken One"'))
    done = rules_command(run, "--rules-from", file)
    assert done.returncode == 2 and f"{file}: class Broken: id: expected lower case" in done.stderr


def test_the_command_lists_rules(tmp_path: Path) -> None:
    file = tmp_path / "my_rules.py"
    file.write_text(MY_RULES)
    done = rules_command("--list", "--rules-from", file)
    assert done.returncode == 0
    assert "largest (file)\n    The loss is large\n    limit: a number of at least 0, default 2.0\n" in done.stdout
    assert "unchanged_tensor (needs a selection of tensors)" in done.stdout
    rules = {rule["id"]: rule for rule in json.loads(rules_command("--list", "--json").stdout)["rules"]}
    assert set(RULES) < set(rules) and rules["overfit"]["advice"]["causes"]
    done = rules_command()
    assert done.returncode == 2 and "missing RUN, or --list" in done.stderr


def test_a_rule_host_reads_values_of_the_recording(recorded: Callable[[str], graphdbg.runs.Run]) -> None:
    run = recorded("faulty")
    place = {"rank": 0, "tensor": "forward/embedding/input:0", "step": 1, "mode": "train", "pass": 1}
    requests = [{"rules": [{"rule": "nlp_sequence_ratio"}], "run": run.path}, {"observe": 0, **place}]
    done = subprocess.run(
        [GRAPHDBG, "rulehost"],
        input="".join(json.dumps(request) + "\n" for request in requests),
        capture_output=True,
        text=True,
        timeout=120,
        env=clean_environment(),
    )
    ready, found = map(json.loads, done.stdout.splitlines())
    assert ready["ready"][0]["needs"]["tensors"]
    assert found["finding"]["step"] == 1 and "token 0 takes" in found["finding"]["message"]
