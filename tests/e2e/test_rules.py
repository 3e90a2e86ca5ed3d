"""`graphdbg rules`, and the same rules over the log and by SQL."""

from __future__ import annotations

import importlib.util
import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import graphdbg
import pytest
from conftest import GRAPHDBG, Finished, clean_environment
from graphdbg.cli.client import ApiError, Client
from graphdbg.cli.served_run import served_run
from graphdbg.rules import ExpressionRule, RuleError, RuleResult, evaluate, read_rules
from graphdbg.rules.expression import ExpressionError, parse
from graphdbg.rules.measures import NAMES, TENSOR_MEASURES
from random_rules import Expressions, mutated, write_random_run

SEED = 20261124
EXPRESSIONS = 400
MANY_EXPRESSIONS = 2400


def rules_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [GRAPHDBG, "rules", *arguments], capture_output=True, text=True, timeout=300, env=clean_environment()
    )


def start_check(client: Client, run: str, when: str) -> str:
    """Starts a check of an expression, and returns its id."""
    return str(client.post(f"{run}/checks", {"rules": [{"name": "r", "when": when}]})["check_id"])


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "random"
    write_random_run(path, SEED)
    return path


def found(results: Sequence[RuleResult]) -> list[list[str]]:
    """The findings of each rule, in an order that does not depend on the engine."""
    plain = [[replace(each, values=sorted(each.values.items())) for each in result.findings] for result in results]
    return [sorted(f"{each} {each.advice}" for each in findings) for findings in plain]


def differences(run: graphdbg.runs.Run, rules: Sequence[ExpressionRule]) -> list[str]:
    """The rules for which the engines disagree."""
    by_log = evaluate(run, rules, engine="log")
    by_sql = evaluate(run, rules, engine="duckdb")
    wrong = [
        f"{rule.when} [{rule}]: {sorted(set(here) ^ set(there))[:4]}"
        for rule, here, there in zip(rules, found(by_log), found(by_sql), strict=True)
        if here != there
    ]
    for log, sql in zip(by_log, by_sql, strict=True):
        assert log.count == sql.count or wrong
        if not sql.findings and not wrong:
            assert (log.observations, log.unknown) == (sql.observations, sql.unknown), log.rule.when
    return wrong


@pytest.mark.parametrize("count", [EXPRESSIONS, pytest.param(MANY_EXPRESSIONS, marks=pytest.mark.long)])
def test_log_and_sql_agree_on_random_expressions(directory: Path, count: int) -> None:
    pytest.importorskip("duckdb")
    run = graphdbg.open_run(directory)
    choose = random.Random(SEED)
    expressions = Expressions(choose, tuple(TENSOR_MEASURES))
    rules = [
        ExpressionRule(
            f"r{number}",
            expressions.condition(),
            cool_down=choose.choice((0, 0, 2, 10)),
            hold=choose.choice((1, 1, 2, 4)),
            series=choose.choice((("rank", "tensor", "mode"), ("rank", "tensor"))),
        )
        for number in range(count)
    ]
    wrong = differences(run, rules)
    assert not wrong, f"{len(wrong)} of {len(rules)} differ: " + "\n".join(wrong[:5])


def test_python_and_the_server_refuse_the_same_expressions(directory: Path) -> None:
    choose = random.Random(SEED)
    expressions = Expressions(choose, NAMES[:20])
    refused = 0
    with served_run(directory) as (client, run):
        for _ in range(400):
            text = mutated(choose, expressions.condition(2))
            try:
                parse(text, NAMES)
            except ExpressionError as error:
                here = str(error)
            else:
                client.delete(f"{run}/checks/{start_check(client, run, text)}")
                continue
            refused += 1
            with pytest.raises(ApiError) as there:
                start_check(client, run, text)
            assert here in str(there.value), text
    assert refused > 200


def test_log_and_sql_agree_on_values_over_tensors_and_ranks(directory: Path) -> None:
    pytest.importorskip("duckdb")
    run = graphdbg.open_run(directory)
    choose = random.Random(SEED)
    expressions = Expressions(choose, ("hi", "lo", "n", "step"))
    measures = ("l2", "max", "zero_count", "change_abs_max", "nan_count")
    rules = [
        ExpressionRule(
            f"r{number}",
            expressions.condition(2),
            cool_down=0,
            series=choose.choice((("rank",), ("tensor",), ("mode",), ("rank", "mode"), ())),
            reduce={
                "hi": f"max({choose.choice(measures)})",
                "lo": f"min({choose.choice(measures)})",
                "n": choose.choice(("count(l2)", "sum(nan_count)", "mean(zero_count)")),
            },
        )
        for number in range(200)
    ]
    wrong = differences(run, rules)
    assert not wrong, f"{len(wrong)} of {len(rules)} differ: " + "\n".join(wrong[:5])


@pytest.mark.parametrize(
    "select",
    [
        {"include": ["op_[12]"]},
        {"exclude": ["op_1"]},
        {"op_types": ["aten::relu"]},
        {"nodes": ["forward/op_0"], "categories": ["gradient"]},
        {"scopes": ["forward"], "exclude": ["op_0"]},
        {"patterns": ["forward/*_?"]},
        {"patterns": ["*_1", "**_2"]},
        {"collections": ["weights"]},
        {"collections": ["weights"], "include": ["op_2"]},
    ],
)
def test_log_and_sql_select_the_same_tensors(directory: Path, select: dict[str, list[str]]) -> None:
    pytest.importorskip("duckdb")
    run = graphdbg.open_run(directory)
    rule = ExpressionRule("selected", "count >= 0", select, cool_down=1000)
    assert not differences(run, [rule, ExpressionRule("steps", "mode_step > 3", series=("rank",), cool_down=0)])
    (result,) = evaluate(run, [rule], engine="log")
    assert 0 < len({finding.tensor for finding in result.findings}) <= 3
    (limited,) = evaluate(run, [rule], (5, 9), [1], engine="log")
    (by_sql,) = evaluate(run, [rule], (5, 9), [1], engine="duckdb")
    assert found([limited]) == found([by_sql])
    assert {finding.rank for finding in limited.findings} <= {1}
    assert all(5 <= finding.step <= 9 for finding in limited.findings)


def test_a_packed_run_has_the_findings_of_its_log(directory: Path, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    rules = [ExpressionRule("r", "prev(nan_count, 2) < nan_count"), ExpressionRule("s", "change_l2 > 1")]
    by_log = found(evaluate(graphdbg.open_run(directory), rules, engine="log"))
    packed = tmp_path / "packed"
    shutil.copytree(directory, packed)
    subprocess.run([GRAPHDBG, "pack", str(packed)], check=True, capture_output=True, env=clean_environment())
    run = graphdbg.open_run(packed)
    assert found(evaluate(run, rules)) == by_log
    assert all(by_log)
    # DuckDB lost rows of this join, of files with few rows.
    ratio = ExpressionRule("ratio", "change_ratio > 10 || change_ratio < 1e-08", {"include": ["op_"]})
    for limits in (((5, 9), [1]), ((5, 9), None), ((None, None), [0])):
        there, here = (
            evaluate(each, [ratio], *limits, engine="duckdb") for each in (run, graphdbg.open_run(directory))
        )
        assert there == here
    with pytest.raises(graphdbg.GraphdbgError, match="has no complete log on this machine: use the engine duckdb"):
        run.check(rules, engine="log")


def test_the_command_lists_findings(directory: Path, tmp_path: Path) -> None:
    config = tmp_path / "job.yaml"
    config.write_text(
        "rules:\n"
        "- {name: often, when: 'nan_count > 1 && prev(nan_count, 1) > 0', cool_down: 0}\n"
        "- {rule: all_zero, select: {collections: [weights]}, params: {threshold: 1000}}\n"
    )
    for engine in ("log", "duckdb"):
        done = rules_command(str(directory), f"--config={config}", f"--engine={engine}", "--json")
        assert done.returncode == 1, done.stderr
        answer = json.loads(done.stdout)
        assert [rule["rule"] for rule in answer["rules"]] == ["often", "all_zero"]
        assert answer["rules"][1]["finding_count"] == 0
        assert len(answer["findings"]) == answer["rules"][0]["finding_count"] > 0
        assert all(finding["values"]["nan_count"] > 1 for finding in answer["findings"])
    done = rules_command(str(directory), f"--config={config}", "--rule=often", "--steps=1:9")
    header, *lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert header.split() == ["step", "rank", "mode", "rule", "tensor", "values"]
    assert lines and all(int(line.split()[0]) <= 9 and "forward/op_" in line for line in lines)
    assert "graphdbg: often: " in done.stderr
    nothing = rules_command(str(directory), f"--config={config}", "--rule=all_zero")
    assert (nothing.returncode, nothing.stdout) == (0, "")


def test_the_command_evaluates_the_built_in_rules_that_fit(directory: Path) -> None:
    done = rules_command(str(directory))
    assert done.returncode == 1, done.stderr
    assert "exploding_tensor" in done.stdout
    assert "vanishing_gradient is not evaluated: the run has no collection gradients" in done.stderr


# The learning rate is 0, and a later ReLU is dead.
TRAINS = """
import torch
torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 3
first, last = torch.nn.Linear(8, 16), torch.nn.Linear(16, 1)
optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.0)
loss_of = torch.nn.MSELoss()
for step in range(14):
    optimizer.zero_grad()
    hidden = torch.relu(first(x) - (100 if step >= 11 else 0))
    loss = loss_of(last(hidden), y)
    loss.backward()
    optimizer.step()
"""
COLLECTIONS = """
record: {overhead: 0}
collections:
- {name: losses}
- {name: weights, reductions: {change: true}}
- {name: gradients}
- {name: relus, op_types: ["aten::relu"], reductions: {units: {axis: 1, from: 0, below: 1}}}
rules:
- {rule: loss_not_decreasing}
- {rule: unchanged_tensor, select: {collections: [weights]}}
- {rule: vanishing_gradient, for: 2}
- {rule: dead_relu}
"""


def test_rules_find_what_is_wrong_with_a_job(debug_run: Callable[..., Finished], tmp_path: Path) -> None:
    script, config = tmp_path / "train.py", tmp_path / "job.yaml"
    script.write_text(TRAINS)
    config.write_text(COLLECTIONS)
    job = debug_run(
        "--no-wait", f"--record={tmp_path / 'runs'}", f"--config={config}", command=[sys.executable, str(script)]
    )
    assert job.code == 0, job.stderr
    run = graphdbg.open_run(job.result["run"])
    loss, unchanged, vanishing, dead = read_rules(config)
    results = evaluate(run, [loss, unchanged, vanishing, dead], engine="log")
    places = [{(finding.step, finding.tensor) for finding in result.findings} for result in results]
    assert places[0] == {(11, "forward/MSELoss/mse_loss:0")}
    # The first two changes are those of the steps 2 and 3.
    assert places[1] == {(3, "forward/first/weight:0"), (3, "forward/last/weight:0")}
    assert {step for step, _ in places[2]} == {13} and len(places[2]) == 3
    assert places[3] == {(12, "forward/relu:0")}
    assert results[3].findings[0].values == {"idle_unit_percentage": 100.0}
    if importlib.util.find_spec("duckdb"):
        assert not differences(run, [loss, unchanged, vanishing])


def test_wrong_rules_are_named(directory: Path, tmp_path: Path) -> None:
    unknown = rules_command(str(directory), "--rule", "exploding_tensors")
    assert unknown.returncode == 2
    assert "--rule.rule: there is no rule 'exploding_tensors'; did you mean 'exploding_tensor'?" in unknown.stderr
    config = tmp_path / "job.yaml"
    config.write_text("rules:\n- {when: nan_count > 0, select: {include: [nothing]}}\n")
    empty = rules_command(str(directory), f"--config={config}")
    assert empty.returncode == 2
    assert "nothing that it selects was recorded" in empty.stderr
    config.write_text("rules:\n- {when: nan_count > 0, selct: {}}\n")
    wrong = rules_command(str(directory), f"--config={config}")
    assert wrong.returncode == 2
    assert f"{config}:2: rules[0].selct: unknown key; did you mean 'select'?" in wrong.stderr


def test_python_checks_rules_as_the_command_does(directory: Path) -> None:
    run = graphdbg.open_run(directory)
    findings = run.check([{"rule": "exploding_tensor"}, ExpressionRule("r", "zero_count > 1")])
    assert {finding.rule for finding in findings} == {"exploding_tensor", "r"}
    assert run.check({"rule": "exploding_tensor"}, steps=(3, 5), ranks=[0]) == run.check(
        {"rule": "exploding_tensor"}, steps=range(3, 6), ranks=[0], engine="duckdb"
    )
    with pytest.raises(RuleError, match=r"r: .*'\(' is no regular expression"):
        run.check(ExpressionRule("r", "l2 > 1", {"include": ["("]}))
    with pytest.raises(RuleError, match=r"rules\[1\]: expected a rule, not 'nan'"):
        run.check([{"rule": "exploding_tensor"}, "nan"])  # type: ignore[list-item]
    with pytest.raises(graphdbg.GraphdbgError, match="no engine sql; there are auto, log, duckdb, spark"):
        run.check({"rule": "exploding_tensor"}, engine="sql")
