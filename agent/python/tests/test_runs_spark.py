"""`spark_views`: a packed run in Spark."""

from __future__ import annotations

import shutil

import pytest

pytest.importorskip("duckdb")
pyspark = pytest.importorskip("pyspark", reason="needs pyspark")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java", allow_module_level=True)

from graphdbg.runs import NotRecorded, RunNotFoundError, open_run, spark_views  # noqa: E402
from graphdbg.runs.pack_run import pack_run  # noqa: E402
from synthetic_run import write_run_json  # noqa: E402
from test_runs_reading import train  # noqa: E402

QUERIES = [
    "select rank, step, tensor, abs_mean from statistics order by rank, step, mode, exec_order",
    "select rank, step, tensor, changed_count from changes order by rank, step",
    "select rank, count(*) steps from steps group by rank order by rank",
    "select s.rank, s.step, n.op_type from statistics s join nodes n on s.rank = n.rank and s.tensor = n.name || ':0' "
    "where s.step = 2 order by s.rank, s.exec_order",
]


@pytest.fixture(scope="module")
def spark():
    session = pyspark.sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def directory(tmp_path):
    write_run_json(tmp_path / "abc", 2)
    for number in range(2):
        train(tmp_path / "abc", number, 5)
    return tmp_path / "abc"


def test_spark_answers_as_duckdb_does(spark, directory):
    pack_run(str(directory))
    assert {"statistics", "changes", "steps", "nodes"} <= set(spark_views(spark, directory))
    run = open_run(directory)
    for query in QUERIES:
        answer = [tuple(row) for row in spark.sql(query).collect()]
        assert answer and answer == [tuple(row.values()) for row in run.sql(query).to_pylist()], query


def test_a_run_that_is_not_packed_says_so(spark, directory):
    with pytest.raises(NotRecorded, match="graphdbg pack"):
        spark_views(spark, directory)
    with pytest.raises(RunNotFoundError):
        spark_views(spark, directory / "none")
