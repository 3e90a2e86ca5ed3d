"""`Run.diff` and `graphdbg diff`: where two runs or ranks diverge."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

numpy = pytest.importorskip("numpy")

import graphdbg  # noqa: E402
from graphdbg.runs import NotRecorded, RunNotFoundError, compared_side, divergence, open_run  # noqa: E402
from synthetic_run import (  # noqa: E402
    BEGIN_KIND,
    END_KIND,
    EVAL,
    Node,
    SyntheticRank,
    change_record,
    mark,
    statistics_of,
    statistics_records,
    write_run_json,
)
from test_runs_commands import graphdbg_command  # noqa: E402

STEPS = 5
VALUES = numpy.array([-3.0, 0.5, 2.0])


def write(
    directory,
    number=0,
    names=("fc/weight", "fc/out", "loss"),
    change=None,
    steps=STEPS,
    first_id=1,
    reads=None,
    in_place=(),
    alpha="1",
):
    """A rank whose tensors have the same values in all runs, except for `change(step, name, record)`.

    `reads` has the names of the inputs of nodes, `in_place` those of nodes that change their first input.
    """
    write_run_json(directory, 1)
    rank = SyntheticRank(directory, number, 1, directory.name)
    # Ids of nodes differ from process to process.
    rank.nodes = [Node(f"unused_{each}") for each in range(1, first_id)] + [
        Node(
            name,
            text=f"run {name}",
            inputs=[(first_id + names.index(each), 0) for each in (reads or {}).get(name, ())],
            op_type="aten::mul_" if name in in_place else "aten::add",
            alpha=alpha,
        )
        for name in names
    ]
    for step in range(1, steps + 1):
        rank.add(mark(BEGIN_KIND, step))
        for at, name in enumerate(names):
            record = statistics_records(numpy.array([first_id + at]), step, statistics_of(VALUES * (step + at)))
            record["exec_order"] = at + 1
            if change is not None:
                change(step, name, record)
            rank.add(record)
        rank.add(mark(END_KIND, step, records=len(names)))
    rank.write(segments=2)
    return directory


def scaled(from_step, from_name, factor):
    def change(step, name, record):
        if step > from_step or (step == from_step and name == from_name):
            for measure in ("min", "max", "mean", "abs_mean", "abs_max", "l1", "l2"):
                record[measure] *= factor

    return change


@pytest.fixture
def good(tmp_path):
    return write(tmp_path / "good")


def test_runs_that_recorded_the_same_agree(good, tmp_path):
    other = write(tmp_path / "other", first_id=40)
    found = open_run(good).diff(other)
    assert (found.steps, found.matched, found.first, found.next) == (STEPS, 3, None, ())
    assert found.only_here == found.only_there == ()
    assert found == open_run(other).diff(open_run(good))


def test_the_first_op_that_differs_is_found(good, tmp_path):
    other = write(tmp_path / "other", change=scaled(3, "fc/out", 1.5), first_id=7)
    found = open_run(good).diff(other)
    assert vars(found.first) == {
        "step": 3, "mode": "train", "pass_": 1, "node": "fc/out", "there_node": "fc/out", "slot": 0, "exec_order": 2,
        "measure": "min", "here": -12.0, "there": -18.0, "inputs": (), "calls": (),
    }  # fmt: skip
    assert [(each.step, each.node) for each in found.next] == [
        (step, name) for step in (4, 5) for name in ("fc/weight", "fc/out", "loss")
    ]
    assert (found.steps, found.matched) == (STEPS, 3)


def test_the_inputs_of_the_first_op_were_equal(tmp_path):
    reads = {"fc/out": ("x", "fc/weight"), "loss": ("fc/out",)}
    names = ("fc/weight", "x", "fc/out", "loss")

    def wrong(step, name, record):
        if step == 3 and name in ("fc/out", "loss"):
            record["min"] *= 1.5

    here = write(tmp_path / "here", names=names, reads=reads)
    there = write(tmp_path / "there", names=names, change=wrong, first_id=5)
    found = open_run(here).diff(there)
    assert [(each.node, each.there_node, each.state) for each in found.first.inputs] == [
        ("x", "x", "equal"), ("fc/weight", "fc/weight", "equal"),
    ]  # fmt: skip
    loss = found.next[0]
    assert (loss.node, loss.step, len(found.next)) == ("loss", 3, 1)
    assert [vars(each) for each in loss.inputs] == [
        {"node": "fc/out", "there_node": "fc/out", "slot": 0, "state": "differs", "measure": "min", "here": -15.0,
         "there": -22.5}
    ]  # fmt: skip
    ran = graphdbg_command("diff", here, there)
    assert ran.stdout.splitlines()[1].strip() == "equal inputs: x:0, fc/weight:0"


CLIPPED = {"clip": ("gradient",), "step": ("clip",)}


def calls_of(tmp_path, here, there, step="step"):
    """How the two sides call an op whose results differ, and what the command says about it."""
    first = write(tmp_path / "here", **here)
    second = write(tmp_path / "there", change=scaled(2, step, 2), first_id=6, **there)
    difference = open_run(first).diff(second).first
    assert difference.node == step
    lines = graphdbg_command("diff", first, second).stdout.splitlines()
    return [tuple(vars(each).values()) for each in difference.calls], [line.strip() for line in lines[1:]]


def test_a_change_in_place_of_one_side_is_named_instead_of_equal_inputs(tmp_path):
    plain = {"names": ("gradient", "step"), "reads": {"step": ("gradient",)}}
    clipped = {"names": ("gradient", "clip", "step"), "reads": CLIPPED, "in_place": ("clip",)}
    calls, lines = calls_of(tmp_path, plain, clipped)
    assert calls == [("in_place", "gradient:0", "", "clip (/home/me/train.py:7)")]
    assert lines[0] == "input that only the second side changes in place: gradient:0, by clip (/home/me/train.py:7)"
    assert not any("equal inputs" in line for line in lines)
    calls, lines = calls_of(tmp_path / "other way", clipped, plain)
    assert calls == [("in_place", "gradient:0", "clip (/home/me/train.py:7)", "")]
    assert lines[0].startswith("input that only the first side changes in place: gradient:0, by clip")


def test_a_change_in_place_of_both_sides_is_none(tmp_path):
    clipped = {"names": ("gradient", "clip", "step"), "reads": CLIPPED, "in_place": ("clip",)}
    calls, lines = calls_of(tmp_path, clipped, clipped)
    assert calls == [] and lines[0] == "equal inputs: clip:0"


def test_an_op_that_is_inserted_on_one_side_is_another_input(tmp_path):
    plain = {"names": ("hidden", "out"), "reads": {"out": ("hidden",)}}
    dropped = {"names": ("hidden", "dropout", "out"), "reads": {"dropout": ("hidden",), "out": ("dropout",)}}
    calls, lines = calls_of(tmp_path, plain, dropped, "out")
    assert calls == [("input", "0", "hidden:0", "dropout:0")]
    assert lines[0] == "another input: hidden:0, dropout:0"


def test_another_argument_is_named(tmp_path):
    calls, lines = calls_of(
        tmp_path, {"names": ("norm",), "alpha": "1e-05"}, {"names": ("norm",), "alpha": "0.001"}, "norm"
    )
    assert calls == [("attribute", "alpha", "1e-05", "0.001")]
    assert lines[0] == "another argument: alpha 1e-05, 0.001"


def test_inputs_that_may_differ_before_they_were_recorded(tmp_path):
    def forget(step, name, record):
        if name == "fc/weight":
            record["kind"] = 0

    names, reads = ("fc/weight", "fc/out"), {"fc/out": ("fc/weight",)}
    here = write(tmp_path / "here", names=names, reads=reads, change=forget)
    there = write(tmp_path / "there", names=names, reads=reads, change=scaled(1, "fc/out", 2))
    assert "as parameters do that begin with other values" in graphdbg_command("diff", here, there).stdout


def test_an_input_that_was_not_recorded(tmp_path):
    def forget(step, name, record):
        if name == "fc/weight":
            record["kind"] = 0

    names, reads = ("fc/weight", "fc/out"), {"fc/out": ("fc/weight",)}
    here = write(tmp_path / "here", names=names, reads=reads, change=forget)
    there = write(tmp_path / "there", names=names, change=scaled(1, "fc/out", 2))
    (weight,) = open_run(here).diff(there).first.inputs
    assert (weight.node, weight.there_node, weight.state, weight.measure) == ("fc/weight", None, "not_recorded", None)
    assert "inputs that were not recorded: fc/weight:0" in graphdbg_command("diff", here, there).stdout


def test_differences_behind_the_21st_are_not_looked_for(tmp_path):
    names = [f"op_{each}" for each in range(15)]
    here = write(tmp_path / "here", names=[*names, "early"])
    there = write(tmp_path / "there", names=names, change=lambda step, name, record: record["l2"].__iadd__(1))
    found = open_run(here).diff(there)
    assert (found.first.step, len(found.next), found.next[-1].step) == (1, 20, 2)
    # Steps 3 to 5 were not compared.
    assert found.steps == 2 and found.only_here == ("early:0",)


def test_tolerances(good, tmp_path):
    other = write(tmp_path / "other", change=scaled(1, "fc/weight", 1 + 1e-4))
    run = open_run(good)
    assert run.diff(other).first.step == 1
    assert run.diff(other, rtol=1e-3).first is None and run.diff(other, rtol=0, atol=1).first is None
    assert run.diff(other, rtol=0, atol=1e-4).first is not None
    with pytest.raises(graphdbg.GraphdbgError, match="rtol is -1"):
        run.diff(other, rtol=-1)
    with pytest.raises(graphdbg.GraphdbgError, match="atol is nan"):
        run.diff(other, atol=float("nan"))


def test_a_mean_that_cancels_out_is_compared_with_the_size_of_the_elements(tmp_path):
    def noise(step, name, record):
        record["mean"] = 1e-9 * step

    here, there = write(tmp_path / "here"), write(tmp_path / "there", change=noise)
    assert open_run(here).diff(there).first.measure == "mean"
    zero = write(tmp_path / "zero", change=lambda step, name, record: record["mean"].__imul__(0))
    assert open_run(zero).diff(there).first is None


@pytest.mark.parametrize(
    ("measure", "here", "there", "differs"),
    [
        ("nan_count", 0, 1, True),
        ("positive_count", 1, 2, False),
        ("max", numpy.inf, numpy.inf, False),
        ("max", numpy.inf, 1e300, True),
        ("l2", numpy.nan, 1.0, True),
        ("l2", numpy.nan, numpy.nan, False),
        ("variance", 1.0, 1.0 + 1e-9, False),
    ],
)
def test_measures_that_are_equal(tmp_path, measure, here, there, differs):
    def value(number):
        return lambda step, name, record: record.__setitem__(measure, number)

    left, right = write(tmp_path / "left", change=value(here)), write(tmp_path / "right", change=value(there))
    found = open_run(left).diff(right)
    assert (found.first is not None) is differs
    assert found.first is None or found.first.measure == measure


def test_light_records_are_compared_by_what_they_have(good, tmp_path):
    def light(step, name, record):
        record["flags"] = 1
        for measure in ("mean", "abs_mean", "abs_max", "variance", "l1", "l2"):
            record[measure] = numpy.nan

    other = write(tmp_path / "other", change=light)
    assert open_run(good).diff(other).first is None
    far = write(tmp_path / "far", change=lambda step, name, record: (light(step, name, record), record["max"].fill(9)))
    assert open_run(good).diff(far).first.measure == "max"


def test_names_of_only_one_side(good, tmp_path):
    other = write(tmp_path / "other", names=("fc/weight", "head", "loss"))
    found = open_run(good).diff(other)
    assert (found.matched, found.only_here, found.only_there) == (2, ("fc/out:0",), ("head:0",))
    assert found.first is None


def test_renamed_nodes_and_scopes(good, tmp_path):
    other = write(tmp_path / "other", names=("block/linear/weight", "block/linear/out", "objective"), first_id=3)
    run = open_run(good)
    assert run.diff(other).matched == 0
    found = run.diff(other, rename={"fc": "block/linear", "loss": "objective", "fc/o": "nothing"})
    assert (found.matched, found.first, found.only_here_count) == (3, None, 0)
    assert compared_side.renamed("fc/a/b", {"fc": "x", "fc/a": "y"}) == "y/b"
    assert compared_side.renamed("fcx", {"fc": "x"}) == "fcx"


def test_passes_iterations_and_repeated_executions_are_matched(tmp_path):
    def rank(directory, factor=1.0):
        written = SyntheticRank(directory, 0, 1, directory.name)
        written.nodes = [Node("op")]
        written.add(mark(BEGIN_KIND, 1), mark(BEGIN_KIND, 1, EVAL, 1, 1))
        rows = [(EVAL, 1, 0, 1), (1, 1, 0, 2), (1, 1, 0, 3), (1, 1, 1, 4), (1, 2, 0, 5)]
        for mode, pass_, iteration, order in reversed(rows):
            values = statistics_of(VALUES * order * (factor if order == 3 else 1))
            record = statistics_records(numpy.array([1]), 1, values, mode, pass_)
            record["iteration"], record["exec_order"] = iteration, order
            written.add(record)
        written.add(mark(END_KIND, 1))
        written.write()
        return directory

    here, there = rank(tmp_path / "here"), rank(tmp_path / "there", 2.0)
    assert open_run(here).diff(rank(tmp_path / "same")).first is None
    found = open_run(here).diff(there)
    assert (found.first.exec_order, found.first.mode, found.next) == (3, "train", ())


def test_ranks_of_a_run(tmp_path):
    directory = write(tmp_path / "run")
    write(directory, number=1, change=scaled(2, "loss", 2))
    run = open_run(directory)
    assert run.diff(other_rank=1).first.step == 2
    assert run.diff(rank=1, other_rank=0).first.there == run.diff(other_rank=1).first.here
    with pytest.raises(graphdbg.GraphdbgError, match="another run or another rank"):
        run.diff()
    with pytest.raises(NotRecorded, match="rank 5"):
        run.diff(other_rank=5)
    with pytest.raises(RunNotFoundError):
        run.diff(tmp_path / "nothing")


def test_digests_find_what_statistics_cannot(tmp_path):
    for name, last in (("here", 7), ("there", 9)):
        rank = SyntheticRank(tmp_path / name, 0, 1, name)
        rank.nodes = [Node("a"), Node("b")]
        for step in (1, 2):
            rank.add(mark(BEGIN_KIND, step), statistics_records(numpy.array([1]), step, statistics_of(VALUES)))
            rank.add(change_record(step, 1, digest=5), change_record(step, 2, digest=step if step == 1 else last))
            rank.add(mark(END_KIND, step))
        rank.write()
    run = open_run(tmp_path / "here")
    assert run.diff(tmp_path / "there").first is None
    found = run.diff(tmp_path / "there", by="digest")
    assert (found.matched, found.first.node, found.first.measure) == (2, "b", "digest")
    assert (found.first.here, found.first.there) == (7, 9)
    with pytest.raises(graphdbg.GraphdbgError, match="no comparison by bits"):
        run.diff(tmp_path / "there", by="bits")


def test_steps_of_only_one_run_are_not_compared(good, tmp_path):
    found = open_run(good).diff(write(tmp_path / "short", steps=2))
    assert (found.steps, found.first) == (2, None)


def test_large_runs_are_compared_in_parts(good, tmp_path, monkeypatch):
    other = write(tmp_path / "other", change=scaled(4, "loss", 2))
    whole = open_run(good).diff(other)
    monkeypatch.setattr(divergence, "_RECORDS_AT_ONCE", 1)
    done = []
    assert open_run(good).diff(other, progress=lambda *numbers: done.append(numbers)) == whole
    assert done == [(step, STEPS) for step in range(1, STEPS + 1)]


def test_packed_runs_are_compared_like_others(good, tmp_path):
    pytest.importorskip("pyarrow")
    from graphdbg.runs.pack_run import pack_run

    other = write(tmp_path / "other", change=scaled(4, "loss", 2))
    before = open_run(good).diff(other)
    pack_run(str(other))
    assert open_run(good).diff(other) == before


def test_the_command_prints_the_first_difference(good, tmp_path):
    other = write(tmp_path / "other", names=("fc/weight", "fc/out", "loss", "\x1b[31mred"), change=scaled(3, "loss", 2))
    ran = graphdbg_command("diff", good, other)
    assert ran.returncode == 1 and ran.stderr == ""
    first, *rest = ran.stdout.splitlines()
    assert first == "first difference: step 3 train  loss:0  min -15, -30"
    assert len(rest) == 6 + 1 + 1 and rest[-1] == "3 tensors in 5 steps differ"
    assert "\x1b" not in ran.stdout and "only on the second side" in rest[-2]
    answer = json.loads(graphdbg_command("diff", good, other, "--json").stdout)
    assert (answer["first"]["node"], answer["first"]["pass"], answer["only_there_count"]) == ("loss", 1, 1)
    ran = graphdbg_command("diff", good, other, "--rtol", "2")
    assert ran.returncode == 0 and ran.stdout.endswith("3 tensors in 5 steps agree\n")


def test_the_command_needs_no_pyarrow(good, tmp_path):
    other = write(tmp_path / "other")
    (tmp_path / "pyarrow.py").write_text("raise ImportError('not here')\n")
    path = f"{tmp_path}:{Path(graphdbg.__file__).parents[1]}"
    assert graphdbg_command("diff", good, other, PYTHONPATH=path).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["good"], "another run or another rank", 2),
        (["good", "good", "good"], "two runs are compared", 2),
        (["good", "other", "--map", "a="], "expected --map OLD=NEW, not a=", 2),
        (["good", "nothing"], "no recorded run at nothing", 3),
        (["good", "--rank", "0", "--rank", "4"], "rank 4 recorded nothing", 3),
        (["good", "other"], "nothing to compare", 2),
    ],
)
def test_the_command_names_what_is_wrong(good, tmp_path, arguments, message, code):
    write(tmp_path / "other", names=("x", "y"))
    ran = graphdbg_command("diff", *arguments, GRAPHDBG_RECORD=str(tmp_path))
    assert message in ran.stderr and "Traceback" not in ran.stderr
    assert ran.returncode == code


def by_name(name, factor):
    """All measures of one tensor, in each step, are changed."""

    def change(step, changed, record):
        if changed == name:
            for measure in ("min", "max", "mean", "abs_mean", "abs_max", "l1", "l2"):
                record[measure] *= factor

    return change


def test_a_calibration_sets_the_tolerance_of_each_tensor(good, tmp_path):
    equal = write(tmp_path / "equal", change=by_name("fc/out", 1 + 1e-4), first_id=3)
    near = write(tmp_path / "near", change=by_name("fc/out", 1 + 5e-4))
    far = write(tmp_path / "far", change=by_name("fc/out", 1 + 5e-3))
    other = write(tmp_path / "other", change=by_name("loss", 1 + 5e-4))
    run = open_run(good)
    assert run.diff(near).first.node == "fc/out"
    assert run.diff(near, calibrate=equal).first is None
    assert run.diff(far, calibrate=open_run(equal)).first.node == "fc/out"
    assert run.diff(other, calibrate=equal).first.node == "loss"
    with pytest.raises(graphdbg.GraphdbgError, match="no tolerance to calibrate"):
        run.diff(near, by="digest", calibrate=equal)
    assert graphdbg_command("diff", good, near, "--calibrate", equal).returncode == 0
    assert graphdbg_command("diff", good, far, "--calibrate", equal).returncode == 1


def test_a_spread_holds_for_later_steps_only(good, tmp_path):
    """Chaos grows: a spread in step 3 allows no difference in step 2."""
    equal = write(tmp_path / "equal", change=scaled(3, "fc/weight", 1 + 1e-3))
    early = write(tmp_path / "early", change=scaled(2, "fc/out", 1 + 1e-3))
    late = write(tmp_path / "late", change=scaled(4, "fc/out", 1 + 1e-3))
    assert open_run(good).diff(early, calibrate=equal).first.step == 2
    assert open_run(good).diff(late, calibrate=equal).first is None
