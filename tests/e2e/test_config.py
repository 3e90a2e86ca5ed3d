"""Configuration files: their errors, and what they set under `graphdbg run` and without it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import GRAPHDBG, HOSTS, clean_environment
from graphdbg._config import ConfigurationError, load
from graphdbg._config._environment import expand
from graphdbg._config._schema import schema
from graphdbg._config._validate import KEYWORDS

PYTHON = sys.executable
# Keywords that describe and do not restrict.
ANNOTATIONS = {"$schema", "$id", "$defs", "title", "description", "default", "examples", "patternTitle"}

EVERY_KEY = """\
environment:
  environment_variables: [A=1, B=$A/2]
watchpoints:
  - nan
  - abs_max_gt:1e3
  - {condition: 'expr:abs_max > 1e3', scopes: [forward], pause: step}
  - condition: {id: max_gt, params: {value: 2}}
    patterns: ['**/weight']
tensor_budget: 512MiB
step_on: optimizer
record:
  to: runs
  level: off
  keep: all
  ring: 32MiB
  overhead: 0.05
  when_full: drop
  after_hit: 20
  hit_tensors: true
  max_bytes: 100GiB
  tensor_rate: 500MiB
  parquet: auto
save: {every: 1, start: 1, end: null, steps: [], eval: {every: 100}}
reductions: {digest: false, change: false, units: null}
collections:
  - {name: losses}
  - {name: weights, level: tensors, save: {every: 500}}
  - name: relu_outputs
    include: ['forward/.*relu.*']
    exclude: ['.*aux.*']
    op_types: ['aten::relu']
    reductions: {units: {axis: 1, from: 0, to: .inf, below: 1}}
rules:
  - {rule: vanishing_gradient, params: {threshold: 1.0e-8}, for: 3, actions: [pause]}
  - name: replicas drift
    select: {collections: [weights]}
    series: [tensor]
    reduce: {hi: max(l2), lo: min(l2)}
    when: hi - lo > 1e-6 * hi
    actions: [{webhook: https://chat.example/hook}, {record: {level: tensors, steps: 20}}, stop]
"""


def write(tmp_path: Path, text: str, name: str = "job.yaml") -> str:
    file = tmp_path / name
    file.write_text(text)
    return str(file)


def problems(file: str) -> list[str]:
    with pytest.raises(ConfigurationError) as raised:
        load(file)
    return [problem.describe(Path(file).name) for problem in raised.value.problems]


def config(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [GRAPHDBG, "config", *arguments]
    return subprocess.run(command, env=clean_environment(), capture_output=True, text=True, timeout=120)


def test_every_key_is_accepted_and_kept(tmp_path: Path) -> None:
    configuration = load(write(tmp_path, EVERY_KEY))
    assert configuration.values["record"]["level"] == "off"
    assert configuration.values["save"]["end"] is None
    assert configuration.values["collections"][2]["reductions"]["units"]["to"] == float("inf")
    assert configuration.values["rules"][0]["params"] == {"threshold": 1e-8}
    assert [each.line for each in configuration.watchpoints] == [4, 5, 6, 7]
    assert configuration.notes() == []
    # The job does not get addresses.
    assert "hook" not in configuration.variables({})[0]["GRAPHDBG_RECORD_SETTINGS"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nwatchpoint: [nan]", ["job.yaml:1: a: unknown key; known: ", "did you mean 'watchpoints'?"]),
        ("save:\n  evry: 3", ["job.yaml:2: save.evry: unknown key; did you mean 'every'?"]),
        ("save: {every: often}", ["job.yaml:1: save.every: expected an integer, not 'often'"]),
        ("save: {every: 0}", ["expected at least 1, not 0"]),
        ("save: {every: true}", ["expected an integer, not 'true'"]),
        ("record: {overhead: 1.5}", ["record.overhead: expected at most 1, not 1.5"]),
        ("record: 3", ["job.yaml:1: record: expected a text or a mapping, not '3'"]),
        ("\nstep_on: optimiser", ["job.yaml:2: step_on: expected", "did you mean 'optimizer'?"]),
        ("step_on: [optimizer]", ["step_on: expected optimizer, forward or manual, not a list"]),
        ("tensor_budget: 2 parsecs", ["expected a size in bytes, such as 2GiB, not '2 parsecs'"]),
        ("watchpoints:\n- {scopes: [x]}", ["job.yaml:2: watchpoints[0]: the key 'condition' is missing"]),
        ("watchpoints: nan", ["watchpoints: expected a list, not 'nan'"]),
        ("collections: [{name: a, include: ['(']}]", ["collections[0].include[0]: not a regular expression"]),
        ("rules: [{actions: [{webhook: file:///x}]}]", ["rules[0].actions[0].webhook: expected an http"]),
        ("capture: {keep: -1}", ["capture.keep: expected at least 0, not -1"]),
        ("watchpoints: [{condition: nan, actions: [{capture: {}}]}]", ["actions[0].capture: unknown key"]),
        ("watchpoints: [{condition: nan, actions: [{record: {level: off}}]}]", ["record.level: expected light, "]),
        ("watchpoints: [{condition: nan, ignore_count: -1}]", ["ignore_count: expected at least 0, not -1"]),
        ("environment:\n  environment_variables: [7=3]", ["environment_variables[0]: expected NAME=VALUE, not '7=3'"]),
        ("save: {every: 1}\nsave: {every: 2}", ["job.yaml:2: save: this key appears twice"]),
        ("save: &a\n  train: *a", ["job.yaml:1: an alias refers to the value that contains it"]),
        ("save: !!python/object:os.system {}", ["save: expected a mapping"]),
        ("save: {every: 1", ["job.yaml:1: not valid YAML: "]),
        ("- 1", ["job.yaml:1: expected a mapping, not a list"]),
    ],
)
def test_errors_name_line_and_key(tmp_path: Path, text: str, expected: list[str]) -> None:
    found = "\n".join(problems(write(tmp_path, text)))
    for part in expected:
        assert part in found


def test_json_errors_have_their_own_position(tmp_path: Path) -> None:
    assert problems(write(tmp_path, '{\n"save": {},\n}', "job.json"))[0].startswith("job.json:3: not valid JSON: ")
    assert problems(write(tmp_path, '{\n"save":\n{"evry": 1}}', "job.json"))[0].startswith("job.json:3: save.evry")


def test_validation_knows_every_keyword_of_the_schema() -> None:
    def keywords(part: Any) -> set[str]:
        found = set(part)
        children = [each for key in ("properties", "$defs") for each in part.get(key, {}).values()]
        children += part.get("anyOf", [])
        children += [part[key] for key in ("items", "additionalProperties") if isinstance(part.get(key), dict)]
        return found.union(*(keywords(child) for child in children))

    assert keywords(schema()) <= KEYWORDS | ANNOTATIONS


def test_variables_see_the_ones_before(tmp_path: Path) -> None:
    variables, unset = expand(["A=1", "B=${A}2$A", "A=$A$HOME", "C=$$A", "D=x$NOPE"], {"HOME": "/h"})
    assert variables == {"A": "1/h", "B": "121", "C": "$A", "D": "x"}
    assert unset == ["NOPE"]


def test_tensor_budget_of_the_environment_has_precedence(tmp_path: Path) -> None:
    configuration = load(write(tmp_path, "tensor_budget: 1MiB"))
    assert configuration.variables({})[0] == {"GRAPHDBG_TENSOR_BUDGET": "1MiB"}
    assert configuration.variables({"GRAPHDBG_TENSOR_BUDGET": "2GiB"})[0] == {}


def test_hook_configuration_of_sagemaker_is_translated(tmp_path: Path) -> None:
    hook = {
        "S3OutputPath": "s3://bucket/run",
        "LocalPath": "/opt/ml/output/tensors",
        "HookParameters": {
            "save_interval": "100",
            "eval.save_interval": "10",
            "save_steps": "3,7",
            "reductions": "min,abs_l2_norm",
            "include_workers": "all",
        },
        "CollectionConfigurations": [
            {"CollectionName": "losses"},
            {"CollectionName": "relu", "CollectionParameters": {"include_regex": "relu.*,tanh", "end_step": "5"}},
        ],
    }
    configuration = load(write(tmp_path, json.dumps(hook), "hook.json"))
    assert configuration.is_sagemaker
    assert configuration.values == {
        "record": {"to": "/opt/ml/output/tensors", "level": "statistics"},
        "save": {"every": 100, "eval": {"every": 10}, "steps": [1, 3, 7]},
        "collections": [
            {"name": "losses"},
            {"name": "relu", "include": ["relu.*", "tanh"], "save": {"end": 5}},
        ],
    }
    assert configuration.without_effect == ["HookParameters.include_workers"]


def test_a_hook_that_names_only_object_storage_is_recorded_here(tmp_path: Path) -> None:
    hook = {"S3OutputPath": "s3://bucket/run", "CollectionConfigurations": [{"CollectionName": "weights"}]}
    configuration = load(write(tmp_path, json.dumps(hook), "hook.json"))
    assert configuration.values == {
        "record": {"to": "runs", "level": "tensors"},
        # The original's default.
        "save": {"every": 500, "steps": [1]},
        "collections": [{"name": "weights"}],
    }
    (note,) = configuration.notes()
    assert "`graphdbg pack RUN --to s3://bucket/run/RUN`" in note
    command = [GRAPHDBG, "run", "--record=s3://bucket/run", "--", "true"]
    refused = subprocess.run(command, capture_output=True, text=True, env=clean_environment())
    assert refused.returncode == 2 and "cannot record to s3://bucket/run" in refused.stderr


def test_errors_of_hook_configurations(tmp_path: Path) -> None:
    text = '{"HookParameters":\n{"save_intervall": "1",\n"reductions": "l1",\n"start_step": "x"}, "LocalPaht": "/x"}'
    assert [re.sub(";.*", "", each) for each in problems(write(tmp_path, text, "hook.json"))] == [
        "hook.json:4: LocalPaht: unknown key",
        "hook.json:2: HookParameters.save_intervall: unknown key",
        "hook.json:4: HookParameters.start_step: expected an integer of at least 0, not 'x'",
        "hook.json:3: HookParameters.reductions: unknown reduction 'l1'",
    ]


def test_check_command_lists_all_errors(tmp_path: Path) -> None:
    file = write(tmp_path, "save: {every: x}\nrecrod: y\n")
    found = config("check", file)
    assert found.returncode == 1
    assert found.stdout.splitlines() == [
        f"{file}:1: save.every: expected an integer, not 'x'",
        f"{file}:2: recrod: unknown key; did you mean 'record'?",
    ]
    as_json = json.loads(config("check", "--json", file).stdout)
    assert [(each["line"], each["key"]) for each in as_json["errors"]] == [(1, "save.every"), (2, "recrod")]
    assert not as_json["valid"]


def test_check_command_accepts_valid_files(tmp_path: Path) -> None:
    found = config("check", write(tmp_path, EVERY_KEY))
    assert found.returncode == 0
    assert found.stdout == f"{tmp_path}/job.yaml: valid\n"
    assert config("check", str(tmp_path / "none.yaml")).returncode == 1


def test_schema_command_prints_the_schema() -> None:
    assert json.loads(config("schema").stdout) == schema()


@pytest.mark.long(but=["option"])
@pytest.mark.parametrize("way", ["option", "GRAPHDBG_CONFIG", "SMDEBUG_CONFIG_FILE_PATH"])
def test_run_applies_variables_and_watchpoints(debug_run, tmp_path: Path, way: str) -> None:
    script = HOSTS / "small_regression.py"
    file = write(
        tmp_path,
        "environment:\n"
        "  environment_variables: [STEM=small, 'SCRIPT=${STEM}_regression', 'STEM=$STEM.']\n"
        "watchpoints:\n"
        "  - {condition: 'expr:abs_max > -1', patterns: ['forward/mse_loss']}\n"
        "save: {every: 2}\n",
    )
    show = f"import os, runpy; print(os.environ['SCRIPT'], os.environ['STEM']); runpy.run_path({str(script)!r})"
    options = ["--no-wait", "--on-hit", "terminate"] + (["--config", file] if way == "option" else [])
    environment = {} if way == "option" else {way: file}
    run = debug_run(*options, command=[PYTHON, "-c", show], **environment)
    # Applied once: a second time STEM would be "small..".
    assert run.stdout.startswith("small_regression small.\n")
    assert "not acted on" not in run.stderr
    assert run.result["status"] == "terminated"
    assert [hit["node"] for hit in run.result["hits"]] == ["forward/mse_loss"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\nwatchpoints: [nan, nann]", r"job\.yaml:2: watchpoints\[1\]: unknown condition 'nann'"),
        ("\nstep_no: forward", r"job\.yaml:2: step_no: unknown key; did you mean 'step_on'\?"),
    ],
)
def test_run_refuses_an_invalid_file(debug_run, tmp_path: Path, text: str, message: str) -> None:
    run = debug_run("--config", write(tmp_path, text), command=[PYTHON, "-c", "print('ran')"])
    assert run.code == 2
    assert re.search(message, run.stderr)
    assert run.stdout == ""


def test_job_without_run_applies_its_configuration(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "environment: {environment_variables: ['A=1$A']}\ntensor_budget: 3MiB\nwatchpoints: [nan]\nrecord: runs\n",
    )
    # The child process must not expand A again.
    script = (
        "import os, subprocess, sys\n"
        "print(os.environ['A'], os.environ['GRAPHDBG_TENSOR_BUDGET'], flush=True)\n"
        "subprocess.run([sys.executable, '-c', 'import os; print(os.environ[\"A\"])'])\n"
    )
    run = subprocess.run(
        [PYTHON, "-c", script],
        env=clean_environment(GRAPHDBG_ENABLE="1", GRAPHDBG_CONFIG=file, A="0"),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.stdout == "10 3MiB\n10\n"
    # There is no server, so the agent checks them.
    assert run.stderr == ""


def test_job_without_run_continues_without_an_invalid_configuration(tmp_path: Path) -> None:
    file = write(tmp_path, "environment: {environment_variables: [A=1]}\nrecrod: x\n")
    run = subprocess.run(
        [PYTHON, "-c", "import os; print(os.environ.get('A'))"],
        env=clean_environment(GRAPHDBG_ENABLE="1", GRAPHDBG_CONFIG=file),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.stdout == "None\n"
    assert f"{file}:2: recrod: unknown key" in run.stderr
    assert "the program continues without it" in run.stderr
