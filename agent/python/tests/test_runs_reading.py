"""`graphdbg.open_run`: steps, tensors, values, statistics, hits, graph, tables and SQL of a recorded run."""

from __future__ import annotations

import math
import sys

import pytest

numpy = pytest.importorskip("numpy")

import graphdbg  # noqa: E402
from graphdbg.client import Hit  # noqa: E402
from graphdbg.runs import DataLossError, NotRecorded, UnknownTensor, open_run  # noqa: E402
from synthetic_run import (  # noqa: E402
    BEGIN_KIND,
    END_KIND,
    EVAL,
    START_NS,
    STEP_NS,
    Node,
    SyntheticRank,
    change_record,
    hit_message,
    hit_record,
    mark,
    statistics_of,
    statistics_records,
    write_run_json,
)

WEIGHT, LOSS, RELU = "forward/fc/weight", "forward/loss/mean", "forward/relu"


def value(step: int, rank: int):
    return (numpy.arange(32, dtype="f4").reshape(4, 8) - 10) * step + rank


def train(directory, number, steps, world_size=2, part=False):
    """A rank of a training job with an evaluation in every second step; steps 1 and 3 have saved values."""
    rank = SyntheticRank(directory, number, world_size, directory.name)
    rank.nodes = [
        Node(WEIGHT, 1, 2, ""),
        Node(RELU, 3, 1, "aten::relu", inputs=[(1, 0)]),
        Node(LOSS, 0, 1, "aten::mean", inputs=[(2, 0)], shapes=[()], line=9),
    ]
    rank.collections = {"weights": [(1, 0)], "losses": [(3, 0)]}
    rank.info = {"config": {"collections": [{"name": "losses", "level": "statistics"}, {"name": "weights"}]}}
    for step in range(1, steps + 1):
        rank.add(mark(BEGIN_KIND, step))
        loss = statistics_records(numpy.array([3]), step, statistics_of(numpy.array([1 / step + number])))
        weight = statistics_records(numpy.array([1]), step, statistics_of(value(step, number)))
        loss["exec_order"] = 2
        if step % 2 == 0:
            rank.add(mark(BEGIN_KIND, step, EVAL, 1, step // 2))
            evaluated = statistics_of(numpy.array([10.0 + step]))
            rank.add(statistics_records(numpy.array([3]), step, evaluated, EVAL))
            rank.add(mark(END_KIND, step, EVAL, 1, step // 2))
        rank.add(weight, loss, change_record(step, 1, change_abs_mean=step / 10, changed_count=5, count=32))
        if step in (1, 3):
            rank.save(step, 1, value(step, number))
        rank.add(mark(END_KIND, step, records=2))
    rank.hits = [hit_message(2, 2)]
    rank.add(hit_record(2, 2, 1))
    rank.write(segments=2, part=part)
    return rank


@pytest.fixture
def directory(tmp_path):
    path = tmp_path / "abc"
    write_run_json(path, 2)
    return path


@pytest.fixture
def run(directory):
    for number in range(2):
        train(directory, number, 5)
    return open_run(directory)


def test_a_run_knows_its_ranks_modes_steps_and_end(run):
    assert (run.id, run.ranks, run.ended, run.modes()) == ("abc", [0, 1], "exit", ["train", "eval"])
    assert run.info["program"] == "train.py" and run.config["collections"][0]["name"] == "losses"
    assert run.steps() == [1, 2, 3, 4, 5]
    assert run.steps("eval") == [2, 4] and run.steps("predict") == []
    assert run.step_of("eval", 2) == 4 and run.step_of("train", 3) == 3
    assert run.mode_step_of(4) == ("train", 4)
    with pytest.raises(NotRecorded, match="recorded are steps 1 to 5"):
        run.mode_step_of(6)
    with pytest.raises(NotRecorded, match="step 3 of mode eval"):
        run.step_of("eval", 3)
    with pytest.raises(graphdbg.GraphdbgError, match="no mode test"):
        run.steps("test")


def test_a_step_is_complete_when_all_running_ranks_have_ended_it(directory):
    fast, slow = train(directory, 0, 5), train(directory, 1, 3)
    for rank in (fast, slow):
        rank.info |= {"host": "elsewhere", "ring": "/dev/shm/ring.gdbr"}
        rank.write_json(None)
    run = open_run(directory)
    assert run.ended is None
    assert run.steps() == [1, 2, 3] and run.steps(complete=False) == run.steps(rank=0) == [1, 2, 3, 4, 5]
    # A rank that has ended keeps no step incomplete.
    slow.write_json({"reason": "exception", "exit_code": 1})
    run.refresh()
    assert run.steps() == [1, 2, 3, 4, 5] and run.ended is None
    fast.write_json({"reason": "exit"})
    run.refresh()
    assert run.ended == "exception"


def test_tensors_are_found_by_name_collection_step_and_mode(run):
    assert run.tensors() == [f"{WEIGHT}:0", f"{LOSS}:0"]
    assert run.tensors("loss") == run.tensors(collection="losses") == [f"{LOSS}:0"]
    assert run.tensors(mode="eval", step=2) == [f"{LOSS}:0"] and run.tensors(step=99) == []
    with pytest.raises(graphdbg.GraphdbgError, match="invalid regular expression"):
        run.tensors("(")
    with pytest.raises(graphdbg.GraphdbgError, match="no collection gradients; there are losses, weights"):
        run.tensors(collection="gradients")
    collections = run.collections()
    assert list(collections) == ["losses", "weights"] and collections["losses"].level == "statistics"
    assert collections["weights"].tensors == (f"{WEIGHT}:0",)


def test_an_unknown_tensor_names_the_nearest(run):
    with pytest.raises(UnknownTensor, match=f"no tensor forward/fc/wieght:0 is in the graph; .*{WEIGHT}:0"):
        run.tensor("forward/fc/wieght")
    assert run.tensor(WEIGHT).name == f"{WEIGHT}:0"


def test_saved_values_come_back(run):
    weight = run.tensor(WEIGHT)
    assert weight.steps() == [1, 2, 3, 4, 5] and weight.steps(mode="eval") == []
    numpy.testing.assert_array_equal(weight.value(3, rank=1), value(3, 1))
    assert weight.value(3).dtype == "f4" and weight.shape(3) == weight.shape(2) == (4, 8)
    assert list(weight.values()) == [1, 3]
    with pytest.raises(NotRecorded, match="recorded are steps 1, 3; this step has its statistics"):
        weight.value(2)
    with pytest.raises(NotRecorded, match="there are ranks 0, 1"):
        weight.value(3, rank=7)
    assert weight.previous_steps(4, 2) == [2, 3] and weight.previous_steps(1, 2) == []


def test_the_value_of_one_element_is_in_its_statistics(run):
    loss = run.tensor(LOSS)
    assert loss.value(4).shape == () and loss.value(4, rank=1) == numpy.float32(1.25)
    # The evaluation within the step comes first, and is of another mode.
    assert loss.value(4, mode="eval") == 14 and loss.statistics(4, mode="eval").mean == 14
    assert [float(each) for each in loss.values().values()] == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5])
    assert loss.steps(mode="eval") == [2, 4]


def test_statistics_and_reductions(run):
    weight = run.tensor(WEIGHT)
    found = weight.statistics(2)
    assert (found.count, found.min, found.max, found.zero_count) == (32, -20, 42, 1)
    elements = value(2, 0).astype("f8")
    assert weight.reduction(2, "std") == pytest.approx(elements.std())
    assert weight.reduction(2, "sum") == pytest.approx(elements.sum())
    assert weight.reduction(2, "mean", abs=True) == pytest.approx(abs(elements).mean())
    # Not among the statistics: from the saved value.
    assert weight.reduction(3, "std", abs=True) == pytest.approx(abs(value(3, 0)).std())
    with pytest.raises(NotRecorded, match="no value at step 2"):
        weight.reduction(2, "std", abs=True)
    with pytest.raises(graphdbg.GraphdbgError, match="no reduction median"):
        weight.reduction(2, "median")
    with pytest.raises(NotRecorded, match="no statistics at step 9 on rank 0; recorded are steps 1, 2, 3, 4, 5"):
        weight.statistics(9)


def test_a_history_is_a_data_frame(run):
    pytest.importorskip("pandas")
    history = run.tensor(WEIGHT).history("max")
    assert list(history.columns) == ["rank", "step", "mode", "mode_step", "pass", "iteration", "max"]
    assert history["max"].tolist() == [21 * step + rank for rank in range(2) for step in range(1, 6)]
    changes = run.tensor(WEIGHT).history("change_abs_mean", rank=1)
    assert changes["change_abs_mean"].tolist() == [0.1, 0.2, 0.3, 0.4, 0.5]
    evaluated = run.tensor(LOSS).history("mean", rank=0)
    assert evaluated[evaluated["mode"] == "eval"]["mode_step"].tolist() == [1, 2]
    with pytest.raises(graphdbg.GraphdbgError, match="no measure median"):
        run.tensor(WEIGHT).history("median")


def test_hits_and_graph(run):
    hits = run.hits()
    assert [(hit.rank, hit.step, hit.name, hit.op_type) for hit in hits] == [
        (0, 2, f"{RELU}:0", "aten::relu"),
        (1, 2, f"{RELU}:0", "aten::relu"),
    ]
    assert isinstance(hits[0], Hit) and hits[0].actual == {"nan_count": 3} and hits[0].origin == "origin"
    assert hits[0].shape == (4, 8) and hits[0].source.line == 7 and hits[0].time.startswith("2023-11-14T22:13:20")
    graph = run.graph()
    assert [node.name for node in graph.select_nodes("forward/*")] == [WEIGHT, RELU, LOSS]
    assert graph.node(RELU).hit_count == 1 and graph.node(RELU).consumers == (LOSS,)
    assert graph.input_nodes(LOSS) == [RELU] and graph.output_nodes(WEIGHT) == [RELU]
    assert graph.affected_nodes(WEIGHT) == [RELU, LOSS]
    assert [node.name for node in graph.select_nodes(source="train.py:9")] == [LOSS]
    assert [tensor.shape for tensor in graph.select_tensors("*weight:0")] == [(4, 8)]
    with pytest.raises(UnknownTensor):
        graph.node("forward/nothing")


def test_tables_have_the_columns_of_the_format(run):
    pytest.importorskip("pyarrow")
    statistics = run.statistics(step=3)
    assert statistics.num_rows == 4 and statistics.column("rank").to_pylist() == [0, 0, 1, 1]
    keys = {"step", "mode_step", "mode", "dtype", "pass", "iteration", "exec_order", "flags", "tensor", "category"}
    assert keys | {"nonfinite_count", "positive_count", "l2", "grad_scale"} <= set(statistics.column_names)
    assert run.statistics(steps=range(2, 5, 2), rank=0, tensors="weight").column("step").to_pylist() == [2, 4]
    assert run.statistics(steps=(4, None), mode="train", tensors=[LOSS]).num_rows == 4
    steps = run.table("steps").to_pylist()
    assert len(steps) == 14 and {row["rank"] for row in steps} == {0, 1}
    third = next(row for row in steps if row["step"] == 3)
    assert third["begin_ns"] == START_NS + 3 * STEP_NS and third["end_ns"] - third["begin_ns"] == STEP_NS // 2
    assert run.table("changes").column("changed_count").to_pylist() == [5] * 10
    (saved, *_) = run.table("tensors").to_pylist()
    assert (saved["file"], saved["shape"], saved["dtype"]) == ("00000001.safetensors", [4, 8], 12)
    assert run.table("nodes").column("name").to_pylist() == [WEIGHT, RELU, LOSS] * 2
    assert run.table("hits").column("nan_count").to_pylist() == [3, 3]
    with pytest.raises(graphdbg.GraphdbgError, match="no table layers"):
        run.table("layers")


def test_sql_sees_the_same_tables(run):
    pytest.importorskip("duckdb")
    query = f"select rank, max(max) as m from statistics where tensor = '{WEIGHT}:0' group by rank order by rank"
    assert run.sql(query).to_pylist() == [{"rank": 0, "m": 105}, {"rank": 1, "m": 106}]
    joined = "select count(*) as n from hits join nodes on nodes.rank = hits.rank and hits.tensor = nodes.name || ':0'"
    assert run.sql(joined).to_pylist() == [{"n": 2}]
    assert run.sql("select sum(changed_count)::bigint as n from changes").to_pylist() == [{"n": 50}]
    with pytest.raises(graphdbg.GraphdbgError, match="the query failed"):
        run.sql("select nonsense from statistics")


def test_without_duckdb_the_error_names_the_extra(run, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(graphdbg.GraphdbgError, match=r"needs the package duckdb: pip install 'graphdbg\[analysis\]'"):
        run.sql("select 1")


@pytest.mark.parametrize("dtype", ["bool", "int64", "uint8", "float16", "bfloat16", "float32", "float64", "complex128"])
def test_values_of_every_kind_of_element(directory, dtype):
    kind = pytest.importorskip("ml_dtypes").bfloat16 if dtype == "bfloat16" else dtype
    rank = SyntheticRank(directory)
    rank.nodes = [Node("x")]
    written = numpy.arange(6).reshape(2, 3).astype(kind)
    rank.add(mark(BEGIN_KIND, 1))
    rank.save(1, 1, written, dtype)
    rank.add(mark(END_KIND, 1))
    rank.write()
    read = open_run(directory).tensor("x").value(1)
    assert read.dtype == written.dtype and (read == written).all()


def test_our_files_of_tensors_are_safetensors(directory):
    safetensors = pytest.importorskip("safetensors.numpy")
    train(directory, 0, 3)
    (first, _) = sorted((directory / "rank-00000" / "tensors").iterdir())
    numpy.testing.assert_array_equal(safetensors.load_file(first)[f"{WEIGHT}:0"], value(1, 0))


def test_values_in_an_unfinished_file_are_found_by_their_records(directory):
    train(directory, 0, 3, part=True)
    weight = open_run(directory).tensor(WEIGHT)
    numpy.testing.assert_array_equal(weight.value(3), value(3, 0))
    file = directory / "rank-00000" / "tensors" / "00000003.safetensors.part"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(DataLossError, match=r"00000003\.safetensors\.part, offset 65536: .* is cut short"):
        weight.value(3)


class EachValue(graphdbg.Rule):
    """Matches each value that can be read."""

    id, title = "each_value", "A value"
    select, needs = graphdbg.Select(collections=["weights"]), graphdbg.Needs(tensors=True)

    def observe(self, state, now):
        return state, self.finding(f"{now.value().shape}")


def test_a_rule_goes_on_where_a_value_is_cut_short(directory):
    pytest.importorskip("duckdb")
    train(directory, 0, 3, part=True)
    file = directory / "rank-00000" / "tensors" / "00000003.safetensors.part"
    file.write_bytes(file.read_bytes()[:-1])
    (found,) = open_run(directory).check(EachValue)
    assert found.step == 1


def test_a_damaged_value_is_an_error_and_the_others_are_read(directory):
    train(directory, 0, 3)
    file = directory / "rank-00000" / "tensors" / "00000003.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    weight = open_run(directory).tensor(WEIGHT)
    numpy.testing.assert_array_equal(weight.value(1), value(1, 0))
    with pytest.raises(DataLossError, match="checksum of a value does not match"):
        weight.value(3)
    file.unlink()
    with pytest.raises(DataLossError, match="is missing"):
        weight.value(3)


def test_a_record_with_an_impossible_shape_reads_nothing(directory):
    rank = SyntheticRank(directory)
    rank.nodes = [Node("x")]
    rank.save(1, 1, numpy.zeros((2, 3), "f4"))
    from graphdbg.runs import SAVED

    rank.records[0].view(SAVED)["shape"][0, :2] = 1 << 62
    rank.write()
    with pytest.raises(DataLossError, match="does not have the shape"):
        open_run(directory).tensor("x").value(1)


def test_records_of_nodes_that_the_graph_lacks_have_a_number(directory):
    rank = SyntheticRank(directory)
    rank.add(statistics_records(numpy.array([17]), 1, statistics_of(numpy.array([math.nan, 1.0]))))
    rank.write()
    run = open_run(directory)
    assert run.tensors() == ["#17:0"] and run.tensor("#17").statistics(1).nan_count == 1


def test_waiting_for_a_step_ends_with_the_run(run):
    run.wait_for(5)
    with pytest.raises(NotRecorded, match=r"ended \(exit\) after step 5, before step 6"):
        run.wait_for(6)
    assert [(step.step, step.mode, step.mode_step, step.seconds) for step in run.follow()][-1] == (5, "train", 5, 0.025)


def test_waiting_for_a_running_rank_times_out(directory):
    rank = train(directory, 0, 2)
    rank.info |= {"host": "elsewhere", "ring": "/dev/shm/ring.gdbr"}
    rank.write_json(None)
    with pytest.raises(
        graphdbg.client.WaitTimeoutError, match=r"step 3 was not complete after 0\.1 s; the last one is 2"
    ):
        open_run(directory).wait_for(3, timeout=0.1)
