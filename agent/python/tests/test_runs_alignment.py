"""Comparison of runs whose graphs differ, and of one process with the ranks of a sharded job."""

from __future__ import annotations

import json

import pytest

numpy = pytest.importorskip("numpy")

import graphdbg  # noqa: E402
from graphdbg.runs import open_run  # noqa: E402
from synthetic_run import (  # noqa: E402
    BEGIN_KIND,
    END_KIND,
    FLOAT32,
    Node,
    SyntheticRank,
    mark,
    statistics_of,
    statistics_records,
    write_run_json,
)
from test_runs_commands import graphdbg_command  # noqa: E402

BFLOAT16 = 11
VALUES = numpy.arange(-15.0, 17.0).reshape(4, 8)
PARAMETER = 2


def write(directory, nodes, values=None, steps=2, number=0, ranks=1, dtype=FLOAT32):
    """A rank whose node NAME has the elements `values[NAME]`, or VALUES, in each step."""
    write_run_json(directory, ranks)
    rank = SyntheticRank(directory, number, ranks, directory.name, nodes=list(nodes))
    for step in range(1, steps + 1):
        rank.add(mark(BEGIN_KIND, step))
        for at, node in enumerate(nodes, 1):
            elements = (values or {}).get(node.name, VALUES * at)
            record = statistics_records(numpy.array([at]), step, statistics_of(elements))
            record["exec_order"], record["dtype"] = at, dtype
            rank.add(record)
        rank.add(mark(END_KIND, step))
    rank.write()
    return directory


def op(name, op_type, *inputs, text=None, **more):
    return Node(name, op_type=op_type, inputs=[(each, 0) for each in inputs], text=text or f"{op_type}()", **more)


MODEL = [
    op("forward/x", "input"),
    op("forward/enc/0/linear", "linear", 1),
    op("forward/add", "add", 2, 1, text="y = y + x"),
    op("forward/relu", "relu", 3),
    op("forward/loss", "mean", 4),
]


def test_ops_after_an_inserted_op_are_matched_correctly(tmp_path):
    inserted = [
        MODEL[0],
        MODEL[1],
        op("forward/add", "add", 2, text="y = y + 1"),
        op("forward/add_1", "add", 3, 1, text="y = y + x"),
        op("forward/relu", "relu", 4),
        op("forward/loss", "mean", 5),
    ]
    values = {"forward/add": VALUES * 7, "forward/add_1": VALUES * 3, "forward/relu": VALUES * 4}
    here = write(tmp_path / "here", MODEL)
    there = write(tmp_path / "there", inserted, values | {"forward/loss": VALUES * 5})
    found = open_run(here).diff(there)
    assert (found.first, found.matched) == (None, 5)
    assert found.only_there == ("forward/add:0",) and found.only_here == ()
    assert [(each.old, each.new) for each in found.renamings] == [("forward/add", "forward/add_1")]
    # A difference has the names of both sides.
    there = write(tmp_path / "wrong", inserted, values | {"forward/add_1": VALUES * 2})
    first = open_run(here).diff(there).first
    assert (first.node, first.there_node) == ("forward/add", "forward/add_1")
    assert [(each.node, each.state) for each in first.inputs] == [
        ("forward/enc/0/linear", "equal"), ("forward/x", "equal"),
    ]  # fmt: skip
    ran = graphdbg_command("diff", here, there)
    assert "forward/add:0 (forward/add_1)  min" in ran.stdout
    assert "taken as the same: forward/add -> forward/add_1 (1 nodes)" in ran.stdout


def test_renamed_scopes_are_found_without_a_map(tmp_path):
    renamed = [*MODEL]
    renamed[1] = op("forward/body/encoder/0/linear", "linear", 1)
    found = open_run(write(tmp_path / "here", MODEL)).diff(write(tmp_path / "there", renamed))
    assert (found.first, found.matched) == (None, 5)
    assert [(each.old, each.new, each.nodes) for each in found.renamings] == [
        ("forward/enc", "forward/body/encoder", 1)
    ]
    # An explicit renaming takes precedence.
    given = open_run(tmp_path / "here").diff(tmp_path / "there", rename={"forward/enc/0/linear": "forward/relu"})
    assert given.first.there_node == "forward/relu" and given.first.node == "forward/enc/0/linear"


def test_ops_that_have_nothing_in_common_are_not_matched(tmp_path):
    other = [MODEL[0], op("late/add", "add", 1, text="z = 1 + z", shapes=((3,),)), op("loss", "sum", 2)]
    found = open_run(write(tmp_path / "here", MODEL)).diff(write(tmp_path / "there", other))
    assert (found.matched, found.renamings) == (1, ())
    assert found.only_there == ("late/add:0", "loss:0")


def test_the_tolerance_follows_from_the_number_of_elements_that_are_summed(tmp_path):
    """16 u (1 + sqrt(n)) in the first step, n = 8 for (4, 8) times (8, 8). The variance differs by twice the factor."""
    nodes = [op("x", "input"), Node("w", kind=PARAMETER, shapes=((8, 8),)), op("mm", "aten::mm", 1, 2)]
    allowed = 16 * 2**-24 * (1 + 8**0.5)
    here = open_run(write(tmp_path / "here", nodes, steps=1))
    for factor, differs in ((0.45, False), (1.1, True)):
        values = {"mm": VALUES * 3 * (1 + factor * allowed)}
        there = write(tmp_path / f"there {factor}", nodes, values, steps=1)
        assert (here.diff(there).first is not None) is differs
    alone = {"x": VALUES * (1 + 0.9 * allowed)}
    assert here.diff(write(tmp_path / "alone", nodes, alone, steps=1)).first.node == "x"


def test_the_coarser_data_type_counts(tmp_path):
    nodes = [op("x", "input"), op("relu", "relu", 1)]
    half = [op("x", "input"), op("relu", "relu", 1, dtype=BFLOAT16)]
    near = {"relu": VALUES * 2.04, "x": VALUES * 1.01}
    here = open_run(write(tmp_path / "here", nodes))
    assert here.diff(write(tmp_path / "same", nodes, near)).first.node == "x"
    there = write(tmp_path / "there", half, near)
    assert here.diff(there).first is None
    assert here.diff(there, rtol=1e-6).first.node == "x"
    assert here.diff(write(tmp_path / "far", half, near | {"relu": VALUES * 3})).first.node == "relu"


def test_ranks_with_parts_are_compared_with_one_process(tmp_path):
    nodes = [op("whole", "input"), op("part", "linear", 1), op("partial", "mean", 2)]
    here = write(tmp_path / "here", nodes, {"part": VALUES**3})
    for name, factor in (("there", 1), ("wrong", 1.01)):
        for rank in range(2):
            values = {"part": factor * VALUES[:, rank * 4 :][:, :4] ** 3, "partial": VALUES * (rank + 1)}
            write(tmp_path / name, nodes, values, number=rank, ranks=2)
    run = open_run(here)
    found = run.diff(tmp_path / "there", sum_ranks=True)
    assert (found.first, found.partial, found.matched) == (None, 1, 3)
    assert run.diff(tmp_path / "there").first.measure == "count"
    first = run.diff(tmp_path / "wrong", sum_ranks=True).first
    assert (first.node, first.measure) == ("part", "min")
    ran = graphdbg_command("diff", here, tmp_path / "there", "--sum-ranks")
    assert ran.returncode == 0 and "not compared: 1 tensors" in ran.stdout
    ran = graphdbg_command("diff", here, tmp_path / "wrong", "--sum-ranks", "--json")
    assert json.loads(ran.stdout)["first"]["node"] == "part"
    with pytest.raises(graphdbg.GraphdbgError, match="all ranks of another run"):
        run.diff(other_rank=0, sum_ranks=True)


def test_statistics_of_parts_are_those_of_the_whole(tmp_path):
    nodes = [op("x", "input")]
    values = numpy.random.default_rng(0).normal(100, 1, (6, 8))
    values[0, 0] = numpy.nan
    values[1] = numpy.inf
    here = write(tmp_path / "here", nodes, {"x": values})
    for rank, part in enumerate((values[:1], values[1:2], values[2:])):
        write(tmp_path / "there", nodes, {"x": part}, number=rank, ranks=3)
    assert open_run(here).diff(tmp_path / "there", sum_ranks=True, rtol=1e-12).first is None
