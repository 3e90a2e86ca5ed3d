"""Rules: their text, their errors, the built-in ones, and their evaluation by SQL."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import graphdbg
import numpy
import pytest
from graphdbg._config import load
from graphdbg.rules import BUILT_INS, ExpressionRule, Finding, RuleError, built_in, evaluate, read_rules, rule_of
from graphdbg.rules.expression import ExpressionError, parse
from graphdbg.runs.pack_run import pack_run
from graphdbg.runs.record import BEGIN_KIND, END_KIND, MARK
from synthetic_run import (
    EVAL,
    Node,
    SyntheticRank,
    change_record,
    mark,
    statistics_of,
    statistics_records,
    units_record,
    write_run_json,
)

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")


def make_rank(directory: Path, number: int, values: Sequence[float], **options: Any) -> SyntheticRank:
    """A rank whose only tensor, one element, has these values, one in each step."""
    rank = SyntheticRank(directory, number, 1, directory.name)
    rank.nodes.append(Node("forward/loss", 3, op_type="aten::mean", **options))
    for step, value in enumerate(values, 1):
        records = statistics_records(numpy.array([1]), step, statistics_of(numpy.array([value])))
        rank.add(mark(BEGIN_KIND, step), records, mark(END_KIND, step))
    rank.collections["losses"] = [(1, 0)]
    return rank


def open_run(directory: Path, *ranks: SyntheticRank) -> graphdbg.runs.Run:
    write_run_json(directory, len(ranks))
    for rank in ranks:
        rank.write()
    return graphdbg.open_run(directory)


def steps_of(run: graphdbg.runs.Run, when: str, cool_down: int = 0, **keys: Any) -> list[int]:
    findings = run.check({"name": "r", "when": when, "cool_down": cool_down, **keys}, engine="duckdb")
    return [finding.step for finding in findings]


@pytest.fixture
def losses(tmp_path: Path) -> graphdbg.runs.Run:
    return open_run(tmp_path / "run", make_rank(tmp_path / "run", 0, [8, 4, 2, float("nan"), 2, 2, 1]))


def test_functions_look_at_earlier_observations(losses: graphdbg.runs.Run) -> None:
    assert steps_of(losses, "value < prev(value, 1)") == [2, 3, 7]
    assert steps_of(losses, "value < prev(value, 2)") == [3, 7]
    assert steps_of(losses, "mean_before(value, 2) == 6") == [3]
    assert steps_of(losses, "min_before(value, 2) < 3 && max_before(value, 2) == 2") == [7]
    assert steps_of(losses, "held(value > 1, 3)") == [3]
    assert steps_of(losses, "!held(value > 1, 3) && step < 4") == [1, 2]
    assert steps_of(losses, "nan_count > 0 || value > 7") == [1, 4]
    assert steps_of(losses, "log10(value - 2) < -300") == [3, 5, 6]
    assert steps_of(losses, "1 / (value - 2) > 1e300 || sqrt(value - 5) > 1") == [1, 3, 5, 6]


def test_a_rule_fires_once_per_episode(losses: graphdbg.runs.Run) -> None:
    assert steps_of(losses, "value >= 4 || value == 1", cool_down=0) == [1, 2, 7]
    assert steps_of(losses, "value >= 4 || value == 1", cool_down=4) == [1, 7]
    assert steps_of(losses, "value >= 4 || value == 1", cool_down=5) == [1]
    assert steps_of(losses, "value > 0", **{"for": 2}) == [2, 3, 6, 7]


def test_a_finding_names_series_and_values(losses: graphdbg.runs.Run) -> None:
    (found,) = losses.check({"name": "rise", "when": "value == 2 && prev(value, 1) == 2"}, engine="duckdb")
    message = "value == 2 && prev(value, 1) == 2: value = 2"
    assert found == Finding("rise", 0, "forward/loss:0", "train", 6, {"value": 2.0}, message)


def test_modes_are_series_of_their_own(tmp_path: Path) -> None:
    rank = make_rank(tmp_path / "run", 0, [])
    for step in range(1, 5):
        rank.add(mark(BEGIN_KIND, step))
        rank.add(statistics_records(numpy.array([1]), step, statistics_of(numpy.array([step]))))
        rank.add(mark(BEGIN_KIND, step, EVAL, 1))
        rank.add(statistics_records(numpy.array([1]), step, statistics_of(numpy.array([-step])), EVAL))
        rank.add(mark(END_KIND, step, EVAL, 1), mark(END_KIND, step))
    run = open_run(tmp_path / "run", rank)
    found = run.check({"name": "r", "when": "value < prev(value, 1)", "cool_down": 0}, engine="duckdb")
    assert [(each.mode, each.step) for each in found] == [("eval", 2), ("eval", 3), ("eval", 4)]
    assert steps_of(run, "value < prev(value, 1)", series=["rank", "tensor"]) == [1, 2, 3, 4]


def test_ranks_are_compared_by_reducing(tmp_path: Path) -> None:
    ranks = [make_rank(tmp_path / "run", number, [1, 1, 1 + number, 1]) for number in range(3)]
    run = open_run(tmp_path / "run", *ranks)
    rule = {"rule": "replicas_disagree", "select": {"include": ["loss"]}}
    (found,) = run.check(rule, engine="duckdb")
    assert (found.rank, found.tensor, found.mode, found.step) == (None, "forward/loss:0", None, 3)
    assert found.values == {"hi": 3.0, "lo": 1.0}
    # Four ranks, of which one differs from the others.
    ranks = [make_rank(tmp_path / "odd", number, [1, 1, 5 if number == 2 else 1, 1]) for number in range(4)]
    (found,) = open_run(tmp_path / "odd", *ranks).check(rule, engine="duckdb")
    assert (found.rank, found.step) == (2, 3)
    assert found.message.endswith("; rank 2 of 4 differs from the others")
    assert steps_of(run, "n == 3 && s == 6", reduce={"n": "count(l2)", "s": "sum(l2)"}, series=["run"]) == [3]


def test_idle_units_are_in_the_log_and_in_parquet(tmp_path: Path) -> None:
    rank = make_rank(tmp_path / "run", 0, [])
    for step in range(1, 9):
        rank.add(mark(BEGIN_KIND, step), statistics_records(numpy.array([1]), step, statistics_of(numpy.ones(8))))
        rank.add(units_record(step, 1, 8, step), mark(END_KIND, step))
    run = open_run(tmp_path / "run", rank)
    when = "idle_unit_percentage > 50 && prev(idle_unit_percentage, 1) < 75"
    assert steps_of(run, when) == [5, 6]
    pack_run(run.path)
    shutil.rmtree(tmp_path / "run" / "rank-00000" / "log")
    packed = graphdbg.open_run(tmp_path / "run")
    assert steps_of(packed, when) == [5, 6]
    columns = ("tensor", "axis", "units", "idle_units", "lower", "upper", "below")
    row = packed.table("units").to_pylist()[2]
    assert tuple(row[name] for name in columns) == ("forward/loss:0", 1, 8, 3, 0.0, float("inf"), 1.0)
    # Runs that were packed before this table existed have the records.
    shutil.rmtree(tmp_path / "run" / "parquet" / "units")
    assert steps_of(graphdbg.open_run(tmp_path / "run"), when) == [5, 6]


def test_changes_and_steps_are_observed(tmp_path: Path) -> None:
    rank = make_rank(tmp_path / "run", 0, [])
    for step in range(1, 31):
        begin, end = mark(BEGIN_KIND, step), mark(END_KIND, step)
        end.view(MARK)["monotonic_ns"] += 10**9 if step == 25 else 0
        rank.add(begin, statistics_records(numpy.array([1]), step, statistics_of(numpy.array([1.0]))))
        rank.add(change_record(step, 1, count=1, finite_count=1, changed_count=step % 7), end)
    run = open_run(tmp_path / "run", rank)
    rule = {"rule": "unchanged_tensor", "select": {"include": ["."]}, "params": {"num_steps": 2}, "cool_down": 0}
    assert [each.step for each in run.check(rule, engine="duckdb")] == [7, 14, 21, 28]
    (slow,) = run.check({"rule": "slow_step"}, engine="duckdb")
    assert (slow.step, slow.rank, slow.tensor, slow.mode) == (25, 0, None, None)


def test_built_in_rules_find_what_they_are_for(tmp_path: Path) -> None:
    values = [1.0] * 20 + [0.5, float("inf"), 0, 0, 20]
    run = open_run(tmp_path / "run", make_rank(tmp_path / "run", 0, values))
    everything = {"include": ["."]}

    def found(rule: str, **keys: Any) -> list[int]:
        return [each.step for each in run.check({"rule": rule, **keys}, engine="duckdb")]

    assert found("exploding_tensor") == [22]
    assert found("all_zero", select=everything) == [23]
    assert found("vanishing_gradient", select=everything) == [23]
    assert found("loss_not_decreasing") == [11]
    assert found("gradient_spike", select=everything, params={"window": 2}) == [25]
    assert found("tensor_variance", select=everything, params={"max_threshold": 1}) == []


def test_every_built_in_rule_is_valid() -> None:
    needs_more = {"tensor_variance", "all_zero", "unchanged_tensor"}
    for name in BUILT_INS:
        if name not in needs_more:
            built_in(name).check()
    with pytest.raises(RuleError, match="select: all_zero needs a selection of tensors"):
        built_in("all_zero")


@pytest.mark.parametrize(
    ("rule", "when"),
    [
        (
            {"rule": "loss_not_decreasing", "params": {"increase_threshold_percent": 5, "num_steps": 2}},
            "prev(value, 2) - value < 0.1 / 100 * abs(prev(value, 2)) || "
            "value - prev(value, 1) > 5 / 100 * abs(prev(value, 1))",
        ),
        ({"rule": "unchanged_tensor", "params": {"equal_nan": True}}, "held(changed_count <= nan_count, 2)"),
        (
            {"rule": "unchanged_tensor", "params": {"rtol": 1e-5, "atol": 1e-8}},
            "held(changed_count == 0, 2) || held(change_abs_max <= 1e-05 * previous_abs_mean && nan_count == 0, 2) || "
            "held(change_abs_max <= 1e-08 && nan_count == 0, 2)",
        ),
        (
            {"rule": "weight_update_ratio", "params": {"epsilon": 0.1, "num_steps": 5}},
            "change_abs_mean / (previous_abs_mean + 0.1) > 10 || change_abs_mean / (previous_abs_mean + 0.1) < 1e-08",
        ),
    ],
)
def test_parameters_change_the_expression(rule: dict[str, Any], when: str) -> None:
    made = rule_of({"select": {}, **rule})
    assert isinstance(made, ExpressionRule) and made.when == when
    made.check()


def test_rules_have_what_they_need_recorded(tmp_path: Path) -> None:
    rules = [
        {"rule": "dead_relu", "params": {"axis": -1}},
        {"rule": "saturated_activation"},
        {"rule": "weight_update_ratio", "params": {"num_steps": 5}},
        {"rule": "unchanged_tensor", "select": {"include": ["head"], "exclude": ["bias"]}},
        {"when": "l2 > 1"},
    ]

    def collections(**values: Any) -> dict[str, dict[str, Any]]:
        file = tmp_path / "job.json"
        file.write_text(json.dumps({"rules": rules, **values}))
        variables, _ = load(file).variables({})
        entries = json.loads(variables["GRAPHDBG_RECORD_SETTINGS"])["collections"]
        return {each.pop("name"): each for each in entries}

    implied = collections()
    assert list(implied)[:6] == ["losses", "weights", "biases", "gradients", "layers", "inputs"]
    assert implied["weights"] == {"reductions": {"change": True}, "save": {"every": 5}}
    assert implied["dead_relu"]["reductions"] == {"units": {"axis": -1, "from": 0.0, "below": 1.0}}
    assert implied["tanh_inputs"] == {
        "reductions": {"units": {"axis": 1, "from": -9.4999, "to": 9.4999, "below": 1.0}},
        "read_by": ["aten::tanh", "aten::tanh_", "Tanh"],
    }
    sigmoid = implied["sigmoid_inputs"]["reductions"]["units"]
    assert (sigmoid["from"], sigmoid["to"]) == (-23, 16.99999)
    assert implied["unchanged_tensor"] == {
        "reductions": {"change": True},
        "include": ["head"],
        "exclude": ["bias"],
    }
    # The configuration takes precedence.
    mine = [{"name": "weights", "reductions": {"change": False}}, {"name": "dead_relu", "scopes": ["forward"]}]
    given = collections(collections=mine)
    assert given["weights"]["reductions"] == {"change": False} and "losses" not in given
    assert given["dead_relu"]["scopes"] == ["forward"] and given["dead_relu"]["reductions"]["units"]["axis"] == -1


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({}, "expected either 'rule', the name of a built-in rule, or 'when', an expression"),
        ({"wen": "l2 > 1"}, "wen: unknown key; did you mean 'when'?"),
        ({"rule": "vanishing_gradients"}, "rule: there is no rule 'vanishing_gradients'; did you mean"),
        ({"rule": "vanishing_gradient", "params": {"treshold": 1}}, "params.treshold: unknown key; did you mean"),
        ({"rule": "vanishing_gradient", "params": {"threshold": "x"}}, "params.threshold: expected a number, not 'x'"),
        ({"rule": "gradient_spike", "params": {"window": 2.5}}, "params.window: expected a whole number"),
        ({"rule": "tensor_variance", "select": {}}, "params: tensor_variance: max_threshold or min_threshold"),
        ({"when": "l3 > 1"}, 'when: column 1: unknown statistic "l3"; expected one of min, max'),
        ({"when": "l2 > p99"}, "when: column 6: p99 is not recorded: quantiles are computed from values"),
        ({"when": "hi > 1", "reduce": {"hi": "max(p50)"}}, "reduce.hi: p50 is not recorded: quantiles are"),
        ({"when": "l2 > 1", "select": {"nods": []}}, "select.nods: unknown key; did you mean 'nodes'?"),
        ({"when": "l2 > 1", "select": {"nodes": "a"}}, "select.nodes: expected a list of texts"),
        ({"when": "l2 > 1", "series": ["ranks"]}, "series: 'ranks' is unknown; did you mean 'rank'?"),
        ({"when": "l2 > 1", "series": ["rank"]}, "series: a series of several tensors or ranks needs `reduce`"),
        ({"when": "hi > 1", "reduce": {"hi": "most(l2)"}}, "reduce.hi: expected min, max, sum, mean or count"),
        ({"when": "hi > 1", "reduce": {"hi": "max(l3)"}}, 'reduce.hi: unknown statistic "l3"'),
        ({"when": "hi > Hi", "reduce": {"hi": "max(l2)", "Hi": "min(l2)"}}, "reduce.Hi: another name differs only"),
        ({"when": "step_seconds > l2"}, "when: step_seconds describes steps"),
        ({"when": "l2 > 1", "for": 0}, "for: expected a whole number of at least 1, not 0"),
    ],
)
def test_errors_name_the_key(rule: dict[str, Any], message: str) -> None:
    with pytest.raises(RuleError) as error:
        rule_of(rule, "job.yaml: rules[2]")
    separator = ": " if message.startswith("expected either") else "."
    assert str(error.value).startswith(f"job.yaml: rules[2]{separator}{message}")


def test_a_file_has_rules(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("rules:\n- {rule: vanishing_gradient, params: {threshold: 1.0e-8}, for: 3}\n- {when: l2 > 1}\n")
    first, second = read_rules(file)
    assert first == ExpressionRule(
        "vanishing_gradient", "abs_mean < 1e-08 && count > 0", {"collections": ["gradients"]}, hold=3
    )
    assert (second.name, second.when) == ("l2 > 1", "l2 > 1")
    file.write_text("rules:\n- {when: l2 > 1, coldown: 1}\n")
    with pytest.raises(RuleError, match=r"job.yaml:2: rules\[0\].coldown: unknown key; did you mean 'cool_down'\?"):
        read_rules(file)
    file.write_text("rules:\n- {when: l2 >}\n")
    with pytest.raises(RuleError, match=r"job.yaml: rules\[0\].when: column 5: the expression is incomplete"):
        read_rules(file)
    file.write_text("record: runs\n")
    with pytest.raises(RuleError, match="there are no rules"):
        read_rules(file)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("prev(x, 0) > 1", 9, "a whole number from 1 to 1000"),
        ("prev(x) > 1", 7, "the number of observations"),
        ("prev(prev(x, 1), 1) > 1", 6, "cannot occur within"),
        ("held(x, 2)", 6, "this is a number, but held"),
        ("prev(x, 2)", 1, "this is a number, but a rule"),
        ("1 < x < 3", 7, "do not chain"),
        ("x > 1e999", 5, "out of range"),
        ("x > 1_0", 5, "is not a number"),
        ("x and x", 3, 'write && for "and"'),
        ("(" * 33 + "x" + ")" * 33 + " > 1", 33, "nested more than 32"),
        ("min(1, 2 + 3 * " * 11 + "4" + ")" * 11 + " > 0", 1, "too complex"),
    ],
)
def test_errors_of_expressions_name_the_column(text: str, column: int, message: str) -> None:
    with pytest.raises(ExpressionError, match=message) as error:
        parse(text, ["x"])
    assert error.value.column == column


def test_what_was_not_recorded_is_an_error(losses: graphdbg.runs.Run) -> None:
    with pytest.raises(RuleError, match="r: nothing that it selects was recorded"):
        steps_of(losses, "l2 > 1", select={"include": ["nothing"]})
    with pytest.raises(RuleError, match="the run has no collection 'loses'; did you mean 'losses'"):
        steps_of(losses, "l2 > 1", select={"collections": ["loses"]})
    for when in ("change_l2 > 1", "held(changed_count == 0, 2)", "idle_unit_percentage > 1"):
        (result,) = evaluate(losses, [ExpressionRule("r", when)], engine="duckdb")
        assert (result.observations, result.unknown) == (7, 7)
