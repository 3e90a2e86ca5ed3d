"""The built-in rules in Python over recordings of real training: with each fault planted, and without any."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import graphdbg
import pytest
from conftest import GRAPHDBG, PACKAGE, clean_environment

pytest.importorskip("duckdb")

from graphdbg.rules import evaluate, load_files, rule_of
from graphdbg.runs.pack_run import pack_run

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
print("loss", loss.item())
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


SIMILAR: Json = {"rule": "similar_across_runs", "select": {"collections": ["losses"]}}
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


# Rules that raise or do not return.
UNFIT = """
import graphdbg, time

class Raises(graphdbg.Rule):
    id, title = "raises", "It raises"

    def observe(self, state, now):
        return 1 / (now.step - 3), None

class Sleeps(graphdbg.Rule):
    id, title = "sleeps", "It does not return"
    needs = graphdbg.Needs(steps=True)
    series = ("rank",)

    def observe(self, state, now):
        time.sleep(0 if now.step < 55 else 3600)
        return state, None
"""


class Recorded:
    """Recordings of the script, each of which is made once.

    Attributes:
        live: The result object of `graphdbg run` for the faulty one, whose rules were evaluated while it ran.
        messages: Standard error of that run.
        output: Standard output of that run.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.live: Json = {}
        self.messages = self.output = ""
        self._paths: dict[str, Path] = {}
        (directory / "train.py").write_text(TRAIN)
        (directory / "unfit.py").write_text(UNFIT)
        (directory / "job.yaml").write_text(SETTINGS)
        rules = [{"rule": rule, **RULES[rule]} for rule in RULES] + [{"rule": "raises"}, {"rule": "sleeps"}]
        rules.append(SIMILAR | {"params": {"other": str(directory / "runs" / "sound")}})
        (directory / "rules.yaml").write_text(SETTINGS + f"rules: {json.dumps(rules)}\n")

    def __call__(self, name: str) -> graphdbg.runs.Run:
        """Opens the recording of the script with this argument."""
        if name not in self._paths:
            self._paths[name] = self._record_live(name) if name == "faulty" else self._record(name)
        return graphdbg.open_run(self._paths[name])

    def _record(self, name: str) -> Path:
        environment = clean_environment(
            GRAPHDBG_ENABLE="1",
            GRAPHDBG_RECORD=str(self.directory / "runs"),
            GRAPHDBG_JOB=name,
            GRAPHDBG_CONFIG=str(self.directory / "job.yaml"),
            # Where graphdbg is not installed but imported from a directory, it is not loaded by itself.
            PYTHONPATH=f"{PACKAGE.parent}:{PACKAGE / '_inject'}",
        )
        subprocess.run(self.command(name), check=True, timeout=300, env=environment, stdin=subprocess.DEVNULL)
        return self.directory / "runs" / name

    def _record_live(self, name: str) -> Path:
        self("sound")
        options = ["--no-wait", "--record", str(self.directory / "runs"), "--result", str(self.directory / "live.json")]
        options += ["--config", str(self.directory / "rules.yaml"), "--rules-from", str(self.directory / "unfit.py")]
        done = subprocess.run(
            [GRAPHDBG, "run", *options, "--", *self.command(name)],
            capture_output=True,
            text=True,
            timeout=300,
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, done.stderr
        self.live = json.loads((self.directory / "live.json").read_text())
        self.messages, self.output = done.stderr, done.stdout
        return Path(self.live["run"])

    def command(self, name: str) -> list[str]:
        return [sys.executable, str(self.directory / "train.py"), name]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("rules"))


@pytest.mark.parametrize("rule", RULES)
def test_a_planted_fault_is_found(recorded: Recorded, rule: str) -> None:
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
def test_a_sound_training_has_no_finding(recorded: Recorded, rule: str) -> None:
    # Before it has learned anything, a model confuses all classes; and a batch has six images of a class.
    steps = (41, None) if rule in ("class_imbalance", "confusion") else None
    params = {"params": {"min_diag": 0.6, "max_off_diag": 0.4}} if rule == "confusion" else {}
    assert recorded("sound").check({"rule": rule, **params}, steps=steps, engine="duckdb") == []


def test_values_that_were_not_saved_are_named(recorded: Recorded) -> None:
    run = recorded("sound")
    rule = rule_of({"rule": "check_input_images", "select": {"include": ["^forward/model/1/addmm$"]}})
    (result,) = evaluate(run, [rule])
    assert result.observations == result.unknown == 108 and "were not saved" in result.missing


def test_runs_are_compared(recorded: Recorded) -> None:
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


def test_findings_while_the_job_runs_are_those_of_its_recording(recorded: Recorded) -> None:
    run = recorded("faulty")
    assert Path(recorded.live["run"]) == Path(run.path)
    live: dict[str, list[graphdbg.Finding]] = {}
    for finding in recorded.live["findings"]:
        # The expressions of a rule are numbered.
        name = finding["rule"].partition(" (")[0]
        live.setdefault(name, []).append(graphdbg.Finding.from_json({**finding, "rule": name}))
    similar = SIMILAR | {"params": {"other": recorded("sound").path}}
    for rule in [{"rule": rule, **RULES[rule]} for rule in RULES] + [similar]:
        found = run.check(rule)
        here = live.get(rule["rule"], [])
        assert found
        if rule["rule"] == "stalled_training":
            # While the job runs, a stall is reported at the last step that had ended.
            (stall,) = here
            assert stall.step in (39, 40, 41) and found[0].step == 41 and stall.values["seconds"] > 1.5
            continue
        assert plain(here) == plain(found)
    lines = Path(run.path, "findings.jsonl").read_text().splitlines()
    assert len(lines) == len(recorded.live["findings"])


def test_rules_that_fail_do_not_harm_the_job(recorded: Recorded) -> None:
    recorded("faulty")
    assert "rule raises was switched off: ZeroDivisionError: division by zero" in recorded.messages
    assert "rule sleeps was switched off: a call took more than 10 s" in recorded.messages
    plain_run = subprocess.run(recorded.command("faulty"), capture_output=True, text=True, env=clean_environment())
    assert recorded.output == plain_run.stdout and recorded.output.startswith("loss ")


def plain(findings: Sequence[graphdbg.Finding]) -> list[str]:
    """Findings in an order that does not depend on the engine."""
    # Numbers that came as JSON are floats.
    again = (graphdbg.Finding.from_json(each.json()) for each in findings)
    return sorted(json.dumps(each.json(), sort_keys=True) for each in again)


@pytest.mark.long
@pytest.mark.usefixtures("spark")
def test_spark_has_the_same_findings(recorded: Recorded, tmp_path: Path) -> None:
    shutil.copytree(recorded("faulty").path, tmp_path / "run")
    pack_run(str(tmp_path / "run"))
    run = graphdbg.open_run(tmp_path / "run")
    file = tmp_path / "my_rules.py"
    file.write_text(MY_RULES)
    own = load_files([file])
    rules = [rule_of({"rule": rule, **RULES[rule]}) for rule in RULES if rule != "poor_weight_initialization"]
    rules += [rule_of({"rule": rule}, own=own) for rule in ("largest", "broken")]
    rules.append(rule_of({"rule": "largest", "select": {"include": ["."]}, "params": {"limit": 1e3}}, own=own))
    for rule, here, there in zip(rules, evaluate(run, rules), evaluate(run, rules, engine="spark"), strict=True):
        if rule.name == "broken":
            # Spark evaluates the other series although one raises, so the findings differ.
            assert here.error.startswith("ZeroDivisionError") and here.error == there.error
            continue
        assert plain(here.findings) == plain(there.findings), rule
        assert (here.count, here.observations, here.unknown) == (there.count, there.observations, there.unknown), rule


def rules_command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [GRAPHDBG, "rules", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
    )


def test_the_command_evaluates_rules_of_a_file(recorded: Recorded, tmp_path: Path) -> None:
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
