"""`open_run(path, chain=True)`: a job that was started again is read as one run."""

from __future__ import annotations

import json
import shutil

import pytest

numpy = pytest.importorskip("numpy")

from graphdbg.runs import NotRecorded, open_run  # noqa: E402
from synthetic_run import (  # noqa: E402
    BEGIN_KIND,
    END_KIND,
    EVAL,
    Node,
    SyntheticRank,
    change_record,
    hit_message,
    mark,
    statistics_of,
    statistics_records,
    user_change_message,
    write_run_json,
)

WEIGHT, LOSS = "fc/weight:0", "loss:0"


def value(step, start):
    return numpy.full((2, 3), step + 100 * start, "f4")


def write(directory, start, steps, resumes=None, ranks=1, ended="exit"):
    """One start of a job, with an evaluation in its second step. Ids of nodes differ between starts."""
    write_run_json(directory, ranks)
    content = json.loads((directory / "run.json").read_text())
    (directory / "run.json").write_text(json.dumps(content | {"resumes": resumes}))
    for number in range(ranks):
        rank = SyntheticRank(directory, number, ranks, directory.name)
        rank.nodes = [Node("fc/weight", 1, 2, ""), Node("loss", shapes=[()], inputs=[(1, 0)])]
        ids = (1, 2)
        if start > 1:
            rank.nodes = [
                Node(f"only_{start}"),
                Node("loss", shapes=[()], inputs=[(3, 0)]),
                Node("fc/weight", 1, 2, ""),
            ]
            ids = (3, 2)
        weight, loss = ids
        rank.collections = {"weights": [(weight, 0)]}
        for step in range(1, steps + 1):
            rank.add(mark(BEGIN_KIND, step))
            if step == 2:
                rank.add(mark(BEGIN_KIND, step, EVAL, 1, 1), mark(END_KIND, step, EVAL, 1, 1))
            rank.add(statistics_records(numpy.array([weight]), step, statistics_of(value(step, start))))
            rank.add(statistics_records(numpy.array([loss]), step, statistics_of(numpy.array([start + step / 10]))))
            rank.add(change_record(step, weight, change_abs_mean=step))
            rank.save(step, weight, value(step, start))
            rank.add(mark(END_KIND, step))
        rank.hits = [hit_message(2, loss)]
        rank.user_changes = [user_change_message(1, weight)] if start > 1 else []
        rank.write(ended={"reason": ended})
    return directory


@pytest.fixture
def job(tmp_path):
    write(tmp_path / "job", 1, 3, ended="terminated")
    write(tmp_path / "job.2", 2, 2, "job", ended="exception")
    write(tmp_path / "job.3", 3, 4, "job.2")
    return tmp_path / "job"


def test_any_run_of_the_chain_opens_all(job):
    for name in ("job", "job.2", "job.3"):
        run = open_run(job.parent / name, chain=True)
        assert run.steps() == list(range(1, 10))
        assert (run.id, run.ended) == ("job.3", "exit")
    assert open_run(job).steps() == [1, 2, 3] and open_run(job).ended == "terminated"


def test_a_run_that_nothing_resumes_is_a_chain_of_one(job):
    write(job.parent / "other.2", 1, 2)
    write(job.parent / "job.x", 1, 2, "job")
    assert open_run(job.parent / "other.2", chain=True).steps() == [1, 2]
    assert open_run(job.parent / "job.x", chain=True).steps() == [1, 2]


def test_a_missing_run_ends_the_chain(job):
    shutil.rmtree(job.parent / "job.2")
    assert open_run(job, chain=True).steps() == [1, 2, 3]
    assert open_run(job.parent / "job.3", chain=True).steps() == [1, 2, 3, 4]


def test_runs_that_resume_each_other_end_the_search(job):
    write(job, 1, 3, "job.3")
    assert open_run(job, chain=True).steps() == list(range(1, 10))


def test_values_and_statistics_are_those_of_their_run(job):
    run = open_run(job, chain=True)
    weight = run.tensor("fc/weight")
    assert run.tensors() == [WEIGHT, LOSS] and run.tensors(collection="weights") == [WEIGHT]
    for step, (start, own) in {1: (1, 1), 3: (1, 3), 4: (2, 1), 5: (2, 2), 6: (3, 1), 9: (3, 4)}.items():
        numpy.testing.assert_array_equal(weight.value(step), value(own, start))
        assert weight.statistics(step).max == own + 100 * start
        assert float(run.tensor("loss").value(step)) == pytest.approx(start + own / 10)
    assert weight.steps() == list(range(1, 10)) and weight.previous_steps(5, 3) == [2, 3, 4]
    assert {step: found[0, 0] for step, found in weight.values().items()}[7] == 302
    with pytest.raises(NotRecorded):
        weight.value(10)


def test_steps_and_modes_continue(job):
    run = open_run(job, chain=True)
    assert run.steps("eval") == [2, 5, 7]
    assert run.step_of("eval", 2) == 5 and run.step_of("train", 8) == 8
    assert run.mode_step_of(6) == ("train", 6)
    assert [step.step for step in run.follow()] == list(range(1, 10))


def test_graph_and_hits_have_the_names_of_all(job):
    run = open_run(job, chain=True)
    assert [(hit.step, hit.node) for hit in run.hits()] == [(2, "loss"), (5, "loss"), (7, "loss")]
    assert [(change.step, change.tensor) for change in run.user_changes()] == [(4, WEIGHT), (6, WEIGHT)]
    graph = run.graph()
    assert sorted(node.name for node in graph.select_nodes()) == ["fc/weight", "loss", "only_2", "only_3"]
    assert graph.input_nodes("loss") == ["fc/weight"] and graph.node("loss").hit_count == 3


def test_tables_and_sql_have_the_steps_of_the_chain(job):
    pytest.importorskip("duckdb")
    run = open_run(job, chain=True)
    table = run.statistics(tensors="weight")
    assert table.column("step").to_pylist() == list(range(1, 10))
    assert run.statistics(step=5, tensors=[LOSS]).column("mean").to_pylist() == [pytest.approx(2.2)]
    query = "select step, mode_step, change_abs_mean as c from changes order by step"
    assert [tuple(row.values()) for row in run.sql(query).to_pylist()][3:6] == [(4, 4, 1), (5, 5, 2), (6, 6, 1)]
    assert run.table("steps").num_rows == 12 and run.table("hits").column("step").to_pylist() == [2, 5, 7]
    history = run.tensor("fc/weight").history("max")
    assert history["mode_step"].tolist() == list(range(1, 10))


def test_a_packed_run_of_the_chain_is_read_like_the_others(job):
    pytest.importorskip("duckdb")
    from graphdbg.runs.pack_run import pack_run

    query = "select step, max(max) as m from statistics group by step order by step"
    before = open_run(job, chain=True).sql(query).to_pylist()
    pack_run(str(job.parent / "job.2"))
    run = open_run(job, chain=True)
    assert run.sql(query).to_pylist() == before
    numpy.testing.assert_array_equal(run.tensor("fc/weight").value(5), value(2, 2))


def test_ranks_that_were_added_have_the_later_steps(job):
    write(job.parent / "job.3", 3, 4, "job.2", ranks=2)
    run = open_run(job, chain=True)
    assert run.ranks == [0, 1]
    assert run.steps(rank=1) == [6, 7, 8, 9]
    numpy.testing.assert_array_equal(run.tensor("fc/weight").value(6, rank=1), value(1, 3))
