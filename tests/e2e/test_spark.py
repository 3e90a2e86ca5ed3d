"""A packed run in Spark: the same rows, and the same findings of rules, as by DuckDB."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import graphdbg
import numpy
import pytest
from conftest import GRAPHDBG, clean_environment
from graphdbg.rules import BUILT_INS, ExpressionRule, Finding, evaluate, rule_of
from graphdbg.rules.measures import TENSOR_MEASURES
from graphdbg.runs import NotRecorded, RunNotFoundError, spark_views
from graphdbg.runs.pack_run import pack_run
from random_rules import Expressions, write_random_run
from synthetic_run import BEGIN_KIND, END_KIND, Node, SyntheticRank, mark, statistics_records, write_run_json

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

SEED = 20261124
# Planning and starting a query takes Spark much longer than evaluating it over a small run, so the default is small.
EXPRESSIONS = int(os.environ.get("GRAPHDBG_SPARK_EXPRESSIONS") or 32)
REDUCED_EXPRESSIONS = EXPRESSIONS // 4
QUERIES = [
    "select rank, step, tensor, abs_mean from statistics order by rank, step, mode, pass, exec_order, tensor",
    "select rank, step, tensor, changed_count from changes order by rank, step, mode, pass, tensor, position",
    "select rank, count(*) steps from steps group by rank order by rank",
    "select s.rank, s.step, n.op_type from statistics s join nodes n on s.rank = n.rank and s.tensor = n.name || ':0' "
    "where s.step = 2 order by s.rank, s.mode, s.pass, s.tensor",
]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "random"
    write_random_run(path, SEED)
    pack_run(str(path), keep_log=True)
    return path


@pytest.fixture
def odd_run(tmp_path: Path) -> Path:
    """A run without changes and hits, whose only tensor has a name that SQL would misread."""
    rank = SyntheticRank(tmp_path / "odd", 0, 1, "odd")
    rank.nodes.append(Node('it\'s/a\\new\n"op"'))
    for step in range(1, 4):
        rank.add(mark(BEGIN_KIND, step), statistics_records(numpy.array([1]), step, {"count": 4}), mark(END_KIND, step))
    rank.write()
    write_run_json(tmp_path / "odd", 1)
    return tmp_path / "odd"


def assert_same(run: graphdbg.runs.Run, rules: list[ExpressionRule], **limits: Any) -> int:
    """Compares the results of all engines, and returns how many rules have findings."""
    log, here, there = (evaluate(run, rules, engine=engine, **limits) for engine in ("log", "duckdb", "spark"))
    wrong = [f"{one.rule}: {one} {other}" for one, other in zip(here, there, strict=True) if one != other]
    wrong += [
        f"{one.rule}: {one} {other}"
        for one, other in zip(log, here, strict=True)
        if sorted(map(plain, one.findings)) != sorted(map(plain, other.findings)) or one.count != other.count
    ]
    assert not wrong, f"{len(wrong)} of {len(rules)} differ: " + "\n".join(wrong[:3])
    return sum(bool(result.findings) for result in here)


def plain(finding: Finding) -> str:
    return json.dumps(finding.json(), sort_keys=True)


def test_views_answer_as_duckdb_does(spark: Any, directory: Path) -> None:
    session = spark.newSession()
    assert {"statistics", "changes", "steps", "nodes"} <= set(spark_views(session, directory))
    run = graphdbg.open_run(directory)
    for query in QUERIES:
        answer = [tuple(row) for row in session.sql(query).collect()]
        assert answer and answer == [tuple(row.values()) for row in run.sql(query).to_pylist()], query


def test_views_that_have_no_rows_have_columns(spark: Any, odd_run: Path) -> None:
    pack_run(str(odd_run))
    session = spark.newSession()
    assert "changes" not in spark_views(session, odd_run)
    run = graphdbg.open_run(odd_run)
    for view in ("statistics", "changes", "units", "steps", "tensors", "nodes", "hits"):
        assert set(session.table(view).columns) == set(run.table(view).column_names), view
    assert session.table("hits").count() == 0


def test_a_run_that_is_not_packed_is_refused(spark: Any, odd_run: Path) -> None:
    with pytest.raises(NotRecorded, match="graphdbg pack"):
        spark_views(spark, odd_run)
    with pytest.raises(RunNotFoundError):
        spark_views(spark, odd_run / "none")
    with pytest.raises(graphdbg.GraphdbgError, match=r"9 records .* are only in the log.*: graphdbg pack"):
        graphdbg.open_run(odd_run).check({"rule": "exploding_tensor"}, engine="spark")


@pytest.mark.long
def test_spark_agrees_on_random_expressions(spark: Any, directory: Path) -> None:
    choose = random.Random(SEED + 1)
    expressions = Expressions(choose, tuple(TENSOR_MEASURES))
    rules = [
        ExpressionRule(
            f"r{number}",
            expressions.condition(),
            cool_down=choose.choice((0, 0, 2, 10)),
            hold=choose.choice((1, 1, 2, 4)),
            series=choose.choice((("rank", "tensor", "mode"), ("rank", "tensor"))),
        )
        for number in range(EXPRESSIONS)
    ]
    assert assert_same(graphdbg.open_run(directory), rules) > EXPRESSIONS // 3


def test_spark_agrees_on_values_over_tensors_and_ranks(spark: Any, directory: Path) -> None:
    choose = random.Random(SEED + 2)
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
        for number in range(REDUCED_EXPRESSIONS)
    ]
    assert assert_same(graphdbg.open_run(directory), rules) > REDUCED_EXPRESSIONS // 3


def test_spark_agrees_on_every_built_in_rule(spark: Any, directory: Path) -> None:
    run = graphdbg.open_run(directory)
    params = {
        "tensor_variance": {"max_threshold": 2},
        "all_zero": {"threshold": 50},
        "loss_not_decreasing": {"num_steps": 2},
        "gradient_spike": {"factor": 1, "window": 3},
        "slow_step": {"factor": 0.5, "window": 3},
        "dead_relu": {"threshold_layer": 30},
        "saturated_activation": {"threshold_layer": 30},
    }
    rules = []
    for name in BUILT_INS:
        entry: dict[str, Any] = {"rule": name, "params": params.get(name, {})}
        # The run has no losses and no gradients, so their rules look at every tensor.
        rules.append(rule_of(entry if name == "slow_step" else {**entry, "select": {"include": ["op_"]}}))
    # loss_not_decreasing finds nothing: hardly any tensor here has one element, let alone twice in a row.
    assert assert_same(run, rules) == len(rules) - 1
    assert_same(run, rules, steps=(5, 9), ranks=[1])


def test_names_and_tables_of_every_kind_are_evaluated(spark: Any, odd_run: Path) -> None:
    pack_run(str(odd_run), keep_log=True)
    run = graphdbg.open_run(odd_run)
    (name,) = run.tensors()
    selected = ExpressionRule("r", "count > 3", {"nodes": [name.removesuffix(":0")]})
    assert assert_same(run, [selected, ExpressionRule("c", "change_ratio > 1")]) == 1
    assert run.check(selected, engine="spark")[0].tensor == name


def test_a_damaged_file_is_an_error(spark: Any, odd_run: Path) -> None:
    pack_run(str(odd_run))
    (file,) = (odd_run / "parquet" / "statistics").rglob("*.parquet")
    file.write_bytes(b"PAR1" + bytes(100))
    with pytest.raises(graphdbg.GraphdbgError, match="Spark cannot evaluate the rules"):
        graphdbg.open_run(odd_run).check({"name": "r", "when": "count > 3"}, engine="spark")


def importing(packages: str) -> str:
    """The variable PYTHONPATH with these packages."""
    return os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), packages]))


def rules_on_spark(directory: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [GRAPHDBG, "rules", str(directory), "--engine=spark", "--rule=exploding_tensor", "--rule=slow_step", "--json"],
        capture_output=True,
        text=True,
        timeout=300,
        env=clean_environment(**environment),
    )


@pytest.mark.long
def test_the_command_starts_spark_on_this_machine(packages: str, directory: Path) -> None:
    done = rules_on_spark(directory, PYTHONPATH=importing(packages))
    assert done.returncode == 1, done.stderr
    findings = graphdbg.open_run(directory).check([{"rule": "exploding_tensor"}, {"rule": "slow_step"}])
    assert len(json.loads(done.stdout)["findings"]) == len(findings) > 0
    lines = [line for line in done.stderr.splitlines() if not line.startswith("graphdbg: ")]
    # Java prints this before Spark runs.
    assert [line for line in lines if "incubator modules" not in line] == []


def test_the_command_names_what_spark_needs(packages: str, directory: Path) -> None:
    without_java = rules_on_spark(directory, PYTHONPATH=importing(packages), JAVA_HOME=str(directory))
    assert without_java.returncode == 3
    assert "the engine spark needs Java 17 or newer" in without_java.stderr
    without_pyspark = rules_on_spark(directory)
    assert without_pyspark.returncode == 3
    assert "the engine spark needs PySpark and Java 17: pip install pyspark" in without_pyspark.stderr
