"""The commands for recorded runs, and exports, which are read back by the programs that they are for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

numpy = pytest.importorskip("numpy")

import graphdbg  # noqa: E402
from graphdbg.runs import open_run  # noqa: E402
from graphdbg.runs.export import ExportSelection, export_run  # noqa: E402
from graphdbg.runs.pack_run import pack_run  # noqa: E402
from graphdbg.runs.tables import VIEWS  # noqa: E402
from synthetic_run import (  # noqa: E402
    BEGIN_KIND,
    END_KIND,
    EVAL,
    START_NS,
    STEP_NS,
    Node,
    SyntheticRank,
    mark,
    statistics_of,
    statistics_records,
    user_change_message,
    write_run_json,
)

WEIGHT, LOSS = "forward/fc/weight:0", "forward/loss/mean:0"


def graphdbg_command(*arguments, directory=None, **variables):
    """Runs the program, with the package that this interpreter imports."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GRAPHDBG_")}
    environment["PYTHONPATH"] = str(Path(graphdbg.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-m", "graphdbg.cli.main", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=directory,
        env=environment | variables,
    )


def train(directory, ranks=1, steps=4):
    write_run_json(directory, ranks)
    for number in range(ranks):
        rank = SyntheticRank(directory, number, ranks, directory.name)
        rank.nodes = [Node(WEIGHT[:-2], 1, 2, ""), Node(LOSS[:-2], shapes=[()]), Node("forward/\x1b[31mred")]
        rank.collections = {"weights": [(1, 0)], "losses": [(2, 0)]}
        for step in range(1, steps + 1):
            weight = numpy.linspace(-step, step, 32).astype("f4").reshape(4, 8)
            rank.add(mark(BEGIN_KIND, step))
            rank.add(statistics_records(numpy.array([1]), step, statistics_of(weight)))
            rank.add(statistics_records(numpy.array([2]), step, statistics_of(numpy.array([1 / step]))))
            rank.add(statistics_records(numpy.array([3]), step, statistics_of(numpy.array([numpy.nan, 1]))))
            if step % 2 == 0:
                rank.save(step, 1, weight)
            rank.add(mark(END_KIND, step, records=3))
        rank.write()
    return directory


@pytest.fixture
def runs(tmp_path):
    train(tmp_path / "runs" / "first")
    train(tmp_path / "runs" / "second", ranks=2)
    (tmp_path / "runs" / "notes").mkdir()
    return tmp_path / "runs"


def test_runs_lists_what_is_there(runs):
    ran = graphdbg_command("runs", runs)
    assert ran.returncode == 0 and ran.stderr == ""
    first, second = ran.stdout.splitlines()
    assert first.split()[:6] == ["first", "exit", "steps", "4", "ranks", "1"] and "train.py" in first
    assert "ranks 2" in second
    found = json.loads(graphdbg_command("runs", "--json", GRAPHDBG_RECORD=str(runs)).stdout)["runs"]
    assert [(each["id"], each["ranks"], each["steps"], each["ended"]) for each in found] == [
        ("first", 1, 4, "exit"),
        ("second", 2, 4, "exit"),
    ]
    assert found[0]["bytes"] == sum(file.stat().st_size for file in (runs / "first").rglob("*") if file.is_file())
    assert graphdbg_command("runs", directory=runs.parent).stdout == ran.stdout
    assert graphdbg_command("runs", runs / "notes").stdout == "no runs\n"


def test_runs_names_damaged_files_and_exits_with_1(runs):
    (file,) = (runs / "first").rglob("*.gdbl")
    content = bytearray(file.read_bytes())
    content[64 + 160 * 2 + 40] ^= 1
    file.write_bytes(content)
    ran = graphdbg_command("runs", runs)
    assert ran.returncode == 1
    assert f"DATA_LOSS: {file}, offset {64 + 160 * 2}" in ran.stderr
    assert len(ran.stdout.splitlines()) == 2


def test_runs_names_files_of_a_later_version_and_exits_with_1(runs):
    (file,) = (runs / "first").rglob("*.gdbl")
    content = bytearray(file.read_bytes())
    content[7] = 2
    file.write_bytes(content)
    ran = graphdbg_command("runs", runs)
    assert ran.returncode == 1
    assert f"DATA_LOSS: {file}, offset 0: version 2 of the format is later than 1" in ran.stderr
    first, second = ran.stdout.splitlines()
    assert first.split()[:4] == ["first", "exit", "steps", "0"] and second.split()[:4] == [
        "second",
        "exit",
        "steps",
        "4",
    ]


def test_a_missing_directory_of_runs_is_wrong_usage(tmp_path):
    ran = graphdbg_command("runs", tmp_path / "none")
    assert ran.returncode == 2 and "no directory" in ran.stderr


def test_show_prints_a_step_or_a_tensor(runs):
    ran = graphdbg_command("show", runs / "first")
    title, header, *rows = ran.stdout.splitlines()
    assert title == "first, rank 0, step 4 (4 complete, exit)" and "non-finite" in header
    assert [row.split()[0] for row in rows[:2]] == [WEIGHT, LOSS]
    assert "\x1b" not in ran.stdout and "U+001B" in rows[2]
    ran = graphdbg_command("show", "second", "--rank", 1, "--tensor", WEIGHT, GRAPHDBG_RECORD=str(runs))
    assert [row.split()[0] for row in ran.stdout.splitlines()[2:]] == ["1", "2", "3", "4"]
    ran = graphdbg_command("show", runs / "first", "--step", 2, "--collection", "losses", "--json")
    answer = json.loads(ran.stdout)
    assert (answer["run"], answer["rank"], answer["step"], answer["steps"]) == ("first", 0, 2, 4)
    assert [(row["tensor"], row["mean"]) for row in answer["tensors"]] == [(LOSS, 0.5)]


def test_show_says_why_a_step_has_no_statistics(tmp_path):
    rank = SyntheticRank(tmp_path / "runs" / "first")
    rank.add(mark(BEGIN_KIND, 1), mark(END_KIND, 1, reason=1), mark(BEGIN_KIND, 2), mark(END_KIND, 2, reason=2))
    rank.write()
    run = tmp_path / "runs" / "first"
    assert "step 1: left out, so that recording stays below" in graphdbg_command("show", run, "--step", 1).stdout
    assert "step 2: no collection was due" in graphdbg_command("show", run).stdout
    assert json.loads(graphdbg_command("show", run, "--step", 1, "--json").stdout)["reason"] == "overhead"


def test_show_names_what_users_have_changed(tmp_path):
    rank = SyntheticRank(tmp_path / "runs" / "first")
    rank.nodes = [Node("forward/fc/weight", 1, 2, "")]
    rank.add(mark(BEGIN_KIND, 1), mark(END_KIND, 1))
    rank.user_changes = [
        user_change_message(1),
        user_change_message(1, 1, "forward/fc/weight:0: 2 elements, 1 -> \x1b0"),
    ]
    rank.write()
    run = tmp_path / "runs" / "first"
    lines = graphdbg_command("show", run).stdout.splitlines()[1:3]
    assert lines[0] == "rank 0: changed in step 1 by alice: learning rate 0.1 -> 0" and "U+001B" in lines[1]
    changes = json.loads(graphdbg_command("show", run, "--json").stdout)["user_changes"]
    assert [change["tensor"] for change in changes] == [None, "forward/fc/weight:0"]
    assert changes[0]["time"] == "2023-11-14T22:13:20+00:00"
    pack_run(str(run), to=str(tmp_path / "copy"))
    assert open_run(tmp_path / "copy").user_changes() == open_run(run).user_changes()
    (rank.path / "user-changes.gdbm").write_bytes(b"x" * 40)
    assert [damage.file for damage in open_run(run).damages] == [f"{run}/rank-00000/user-changes.gdbm"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "no recorded run at nowhere"),
        (["first", "--tensor", "forward/fc/weigth"], f"the nearest names are {WEIGHT}"),
        (["first", "--rank", "3"], "rank 3 recorded nothing"),
        (["first", "--collection", "biases"], "no collection biases"),
    ],
)
def test_show_names_what_there_is(runs, arguments, message):
    ran = graphdbg_command("show", *arguments, GRAPHDBG_RECORD=str(runs))
    assert ran.returncode in (2, 3) and message in ran.stderr and "Traceback" not in ran.stderr


def test_pack_and_unpack_print_what_they_did(runs, tmp_path):
    pytest.importorskip("pyarrow")
    log = runs / "first" / "rank-00000" / "log"
    before = [file.read_bytes()[64:] for file in log.iterdir()]
    ran = graphdbg_command("pack", "first", "--json", GRAPHDBG_RECORD=str(runs))
    answer = json.loads(ran.stdout)
    assert answer["rows"] == 22 and answer["ended"] and list(log.iterdir()) == []
    assert graphdbg_command("show", runs / "first").stdout.startswith("first, rank 0, step 4 (4 complete, exit)")
    ran = graphdbg_command("unpack", runs / "first")
    assert ran.stdout == "22 records restored\n"
    assert [file.read_bytes()[64:] for file in log.iterdir()] == before
    ran = graphdbg_command("pack", runs / "second", "--to", tmp_path / "copy", "--keep-log")
    assert ran.stdout.startswith("44 records packed into ") and ran.returncode == 0
    assert graphdbg_command("runs", tmp_path / "copy").stdout.split()[:2] == ["second", "exit"]


def test_commands_without_pyarrow_name_the_extra(runs, tmp_path):
    (tmp_path / "pyarrow.py").write_text("raise ImportError('not here')\n")
    path = os.pathsep.join([str(tmp_path), str(Path(graphdbg.__file__).parents[1])])
    ran = graphdbg_command("pack", runs / "first", PYTHONPATH=path)
    assert ran.returncode == 3 and "pip install 'graphdbg[analysis]'" in ran.stderr
    assert graphdbg_command("show", runs / "first", PYTHONPATH=path).returncode == 0


def export(runs, kind, output, name="first", **selection):
    files = export_run(open_run(runs / name), kind, output, ExportSelection(**selection)).files
    assert not list(Path(output).parent.rglob("*.part"))
    return [file.relative_to(output).as_posix() for file in files if file != output]


def test_fetched_copies_that_were_used_least_recently_make_room(runs, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    from graphdbg.cli import fetched_run
    from graphdbg.runs.pack_run import pack_run

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    bucket = tmp_path / "bucket"
    places = [(bucket / name).as_uri() for name in ("oldest", "used", "newest")]
    for place in places:
        train(runs / place.rpartition("/")[2])
        pack_run(str(runs / place.rpartition("/")[2]), place)

    def fetch(place):
        return fetched_run.fetched_run(place, None, (None, None), lambda *progress: None)

    oldest, used = fetch(places[0]), fetch(places[1])
    os.utime(oldest.parent, (1, 1))
    # Files that are shared with the run take nothing.
    files = [file.stat() for file in used.parent.rglob("*") if file.is_file()]
    size = sum(file.st_size for file in files if file.st_nlink == 1)
    # Room for two.
    monkeypatch.setattr(fetched_run, "MAX_BYTES", size * 5 // 2)
    newest = fetch(places[2])
    assert not oldest.exists() and open_run(used).steps() == open_run(newest).steps() == [1, 2, 3, 4]


def test_npy_has_a_file_for_each_value(runs, tmp_path):
    files = export(runs, "npy", tmp_path / "out")
    assert files == [f"rank-00000/0000000{step}/forward%2Ffc%2Fweight%3A0.npy" for step in (2, 4)]
    numpy.testing.assert_array_equal(numpy.load(tmp_path / "out" / files[1])[0, 0], numpy.float32(-4))
    assert export(runs, "npy", tmp_path / "out", first_step=3) == files[1:]
    with pytest.raises(graphdbg.GraphdbgError, match="nothing to export"):
        export(runs, "npy", tmp_path / "out", collection="losses")


@pytest.fixture
def evaluated(tmp_path):
    """A run whose second step has a loop, and an evaluation without a mark for its beginning."""
    directory = tmp_path / "evaluated"
    write_run_json(directory, 1)
    rank = SyntheticRank(directory, nodes=[Node(LOSS[:-2], shapes=[()])], info={"started_unix_ns": START_NS})
    one = numpy.array([1])
    for step in (1, 2):
        rank.add(mark(BEGIN_KIND, step), statistics_records(one, step, statistics_of(numpy.array([step]))))
        if step == 2:
            rank.add(statistics_records(one, step, statistics_of(numpy.array([20.0])), mode=EVAL))
            rank.save(step, 1, numpy.array([20.0]), mode=EVAL)
            rank.add(mark(END_KIND, step, EVAL, 1))
            for value in (1.0, 2.0):
                rank.save(step, 1, numpy.array([value]))
            rank.save(step, 1, numpy.array([3.0]), pass_=2)
        rank.add(mark(END_KIND, step))
    rank.add(statistics_records(one, 3, statistics_of(numpy.array([3.0]))))
    rank.write()
    return directory


def test_no_value_takes_the_place_of_another(evaluated, tmp_path):
    files = export(evaluated.parent, "npy", tmp_path / "out", name=evaluated.name)
    name = "rank-00000/00000002/forward%2Floss%2Fmean%3A0"
    values = {file: numpy.load(tmp_path / "out" / file).item() for file in files}
    assert values == {f"{name}@eval.npy": 20, f"{name}.npy": 1, f"{name}~2.npy": 2, f"{name}#2.npy": 3}


def test_modes_are_runs_of_their_own_in_tensorboard(evaluated, tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    export(evaluated.parent, "tensorboard", tmp_path / "out", name=evaluated.name)
    found = {}
    for mode in ("train", "eval"):
        scalars = EventAccumulator(str(tmp_path / "out" / mode)).Reload().Scalars(f"tensors/{LOSS}")
        found[mode] = [(each.step, each.value) for each in scalars]
        # Without a mark for its beginning, a step or pass has the time of the last mark.
        times = [(each.wall_time - START_NS / 1e9) / (STEP_NS / 1e9) for each in scalars]
        assert times == pytest.approx([1, 2, 2.5] if mode == "train" else [2.5], abs=1e-3)
    assert found == {"train": [(1, 1), (2, 2), (3, 3)], "eval": [(2, 20)]}


def test_safetensors_are_read_by_their_library(runs, tmp_path):
    safetensors = pytest.importorskip("safetensors")
    files = export(runs, "safetensors", tmp_path / "out", name="second", ranks=(1,))
    assert files == ["rank-00001/00000002.safetensors", "rank-00001/00000004.safetensors"]
    with safetensors.safe_open(tmp_path / "out" / files[0], "numpy") as read:
        assert read.metadata()["step"] == "2" and read.metadata()["mode"] == "train"
        assert read.get_tensor(WEIGHT).shape == (4, 8)


def test_csv_and_parquet_have_the_tables(runs, tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    file = tmp_path / "statistics.csv"
    export(runs, "csv", file, name="second", first_step=2, last_step=3, tensors="weight")
    table = pandas.read_csv(file)
    assert table["rank"].tolist() == [0, 0, 1, 1] and table["max"].tolist() == [2, 3, 2, 3]
    files = export(runs, "parquet", tmp_path / "out", name="second")
    assert len(files) == 7
    assert len(pandas.read_parquet(tmp_path / "out" / "steps.parquet")) == 8
    monkeypatch.setattr("graphdbg.runs.export._STEPS_OF_FILE", 2)
    for selection in ({"tensors": "weight"}, {"collection": "weights"}):
        export(runs, "parquet", tmp_path / "some", name="second", **selection)
        some = {view: pandas.read_parquet(tmp_path / "some" / f"{view}.parquet") for view in VIEWS}
        assert set(some["statistics"]["tensor"]) == set(some["tensors"]["tensor"]) == {WEIGHT}
        assert some["statistics"]["step"].tolist() == [1, 2, 3, 4] * 2
        assert set(some["nodes"]["name"]) == {WEIGHT[:-2]}


def test_tensorboard_reads_scalars_and_histograms(runs, tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    export(runs, "tensorboard", tmp_path / "out")
    events = EventAccumulator(str(tmp_path / "out" / "train"), {"histograms": 0}).Reload()
    assert f"losses/{LOSS}" in events.Tags()["scalars"] and events.Tags()["histograms"] == [f"weights/{WEIGHT}"]
    scalars = events.Scalars(f"losses/{LOSS}")
    assert [(each.step, each.value) for each in scalars] == [(step, pytest.approx(1 / step)) for step in range(1, 5)]
    assert scalars[1].wall_time == pytest.approx((START_NS + 2 * STEP_NS) / 1e9)
    assert [each.value for each in events.Scalars(f"weights/{WEIGHT}/abs_max")] == [1, 2, 3, 4]
    (_, histogram) = events.Histograms(f"weights/{WEIGHT}")
    value = histogram.histogram_value
    assert (histogram.step, value.num, value.min, value.max, sum(value.bucket)) == (4, 32, -4, 4, 32)
    export(runs, "tensorboard", tmp_path / "both", name="second")
    assert sorted(each.name for each in (tmp_path / "both").iterdir()) == ["rank-00000", "rank-00001"]


def test_the_export_command_writes_files_of_a_run(runs, tmp_path):
    output = tmp_path / "out"
    ran = graphdbg_command("export", runs / "first", "--format", "npy", "--steps", "2:2", "-o", output, "--json")
    answer = json.loads(ran.stdout)
    assert len(answer["files"]) == 1 and answer["bytes"] == Path(answer["files"][0]).stat().st_size
    ran = graphdbg_command("export", "first", "--format", "safetensors", directory=tmp_path, GRAPHDBG_RECORD=str(runs))
    assert ran.stdout.startswith("first-safetensors: 2 files") and (tmp_path / "first-safetensors").is_dir()
    ran = graphdbg_command("export", runs / "first", "--format", "npy", "--steps", "x:2")
    assert ran.returncode == 2 and "expected steps as A:B" in ran.stderr
