"""Ctrl-C at any moment of a command for recorded runs leaves nothing half-written."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

numpy = pytest.importorskip("numpy")
pytest.importorskip("pyarrow")

import graphdbg  # noqa: E402
from graphdbg.runs import open_run  # noqa: E402
from graphdbg.runs.files import open_files  # noqa: E402
from synthetic_run import realistic_rank, write_run_json  # noqa: E402

RANKS, STEPS, TENSORS, SAVED = 2, 60, 400, 40
MOMENTS = 4

# Reports when the command begins, so that an interruption hits it and not the imports of Python.
PROGRAM = """
import sys
from graphdbg.cli import main
import graphdbg.runs.pack_run, graphdbg.runs.unpack, graphdbg.runs.export, graphdbg.runs.packages
graphdbg.runs.packages.load("pyarrow.parquet", "a test")
import pyarrow.csv
print("begins", flush=True)
sys.exit(main.main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    directory = tmp_path_factory.mktemp("interrupted") / "run"
    write_run_json(directory, RANKS)
    for number in range(RANKS):
        rank = realistic_rank(directory, number, STEPS, TENSORS, RANKS)
        for step in range(1, SAVED + 1):
            rank.save(step, 1, numpy.full((64, 64), step, "f4"))
        rank.write(segments=3)
    return directory


def start(*arguments, program=PROGRAM, **variables):
    path = str(Path(graphdbg.__file__).parents[1])
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": path, "PATH": "/usr/bin:/bin", **variables},
        # Tests that run in the background of a shell ignore interrupts, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def interrupt(seconds, *arguments, number=signal.SIGINT, **variables):
    """Runs a command and interrupts it after a time. Returns whether it was interrupted before its end."""
    process = start(*arguments, **variables)
    assert process.stdout.readline() == "begins\n", process.stderr.read()
    time.sleep(seconds)
    process.send_signal(number)
    _, errors = process.communicate(timeout=120)
    assert process.returncode in (0, 130, -number), errors
    return process.returncode != 0


def duration(*arguments, **variables):
    process = start(*arguments, **variables)
    process.stdout.readline()
    begin = time.monotonic()
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return time.monotonic() - begin


def records(directory):
    """All records of a run by rank, with their positions, wherever they are."""
    run = open_run(directory)
    assert run.damages == []
    found = [run.rank(number).select(graphdbg.runs.log.Selection()) for number in run.ranks]
    return [(each.positions.tobytes(), each.records.tobytes()) for each in found]


def assert_nothing_half_written(directory):
    assert [str(file) for file in Path(directory).rglob("*.part")] == []


def file_sizes(directory):
    return {each.relative_to(directory): each.stat().st_size for each in directory.rglob("*") if each.is_file()}


def moments(seconds):
    return [seconds * (number + 0.5) / MOMENTS for number in range(MOMENTS)]


def test_pack(original, tmp_path):
    expected = records(original)
    whole = tmp_path / "whole"
    shutil.copytree(original, whole)
    interrupted = 0
    for number, seconds in enumerate(moments(duration("pack", whole))):
        copy = tmp_path / str(number)
        shutil.copytree(original, copy)
        interrupted += interrupt(seconds, "pack", copy)
        assert_nothing_half_written(copy)
        assert records(copy) == expected
        # Steps that have been packed are not packed again, and nothing is lost.
        duration("pack", copy)
        assert records(copy) == expected
        assert not list(copy.rglob("*.gdbl"))
    assert interrupted > 0


def test_a_pack_that_is_killed_loses_nothing(original, tmp_path):
    expected = records(original)
    whole = tmp_path / "whole"
    shutil.copytree(original, whole)
    killed = 0
    for number, seconds in enumerate(moments(duration("pack", whole))):
        copy = tmp_path / str(number)
        shutil.copytree(original, copy)
        killed += interrupt(seconds, "pack", copy, number=signal.SIGKILL)
        # An unfinished file may remain as `.part`, which no reader opens.
        assert records(copy) == expected
        duration("pack", copy)
        assert records(copy) == expected
        assert_nothing_half_written(copy)
    assert killed > 0


def test_pack_to_another_place(original, tmp_path):
    interrupted = 0
    for number, seconds in enumerate(moments(duration("pack", original, "--to", tmp_path / "whole"))):
        copy = tmp_path / str(number)
        interrupted += interrupt(seconds, "pack", original, "--to", copy)
        assert_nothing_half_written(copy)
        duration("pack", original, "--to", copy)
        assert records(copy) == records(tmp_path / "whole")
    assert interrupted > 0


def test_unpack(original, tmp_path):
    packed = tmp_path / "packed"
    shutil.copytree(original, packed)
    duration("pack", packed)
    expected = records(packed)
    interrupted = 0
    for number, seconds in enumerate(moments(duration("unpack", packed, "--to", tmp_path / "whole"))):
        copy = tmp_path / str(number)
        shutil.copytree(packed, copy)
        interrupted += interrupt(seconds, "unpack", copy)
        assert_nothing_half_written(copy)
        assert records(copy) == expected
        duration("unpack", copy)
        shutil.rmtree(copy / "parquet")
        assert records(copy) == expected == records(original)
        elsewhere = tmp_path / f"to{number}"
        interrupt(seconds, "unpack", packed, "--to", elsewhere)
        assert not elsewhere.exists() or records(elsewhere) == expected
    assert interrupted > 0


@pytest.mark.parametrize("kind", ["npy", "safetensors", "csv", "parquet", "tensorboard"])
def test_export(original, tmp_path, kind):
    whole = tmp_path / "whole"
    interrupted = 0
    seconds = duration("export", original, "--format", kind, "-o", whole)
    sizes = file_sizes(whole)
    for number, moment in enumerate(moments(seconds)):
        output = tmp_path / str(number)
        interrupted += interrupt(moment, "export", original, "--format", kind, "-o", output)
        assert_nothing_half_written(tmp_path)
        # All of it is there, or nothing.
        assert not output.exists() or file_sizes(output) == sizes
        if kind == "csv":
            assert not output.exists() or output.read_bytes() == whole.read_bytes()
    assert interrupted > 0


@pytest.mark.parametrize("command", ["open", "recheck", "rules", "diff"])
def test_reading(original, tmp_path, command):
    expected = records(original)
    url = (tmp_path / "bucket" / "run").as_uri()
    duration("pack", original, "--to", url)
    arguments = {
        "open": [url],
        "recheck": [url, "abs_max_gt:1e30"],
        "rules": [original, "--rule", "exploding_tensor"],
        "diff": [original, url, "--rank", "0"],
    }[command]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    # `open` does not end by itself, so the time of `recheck` takes its place.
    timed = ("recheck", url, "abs_max_gt:1e30") if command == "open" else (command, *arguments)
    seconds = duration(
        *timed, XDG_CACHE_HOME=str(tmp_path / "cache"), TMPDIR=str(scratch), XDG_RUNTIME_DIR=str(tmp_path)
    )
    interrupted = 0
    for number, moment in enumerate(moments(seconds)[1::2]):
        cache = tmp_path / f"cache{number}"
        variables = {
            "XDG_CACHE_HOME": str(cache),
            "TMPDIR": str(scratch),
            # Servers list themselves there.
            "XDG_RUNTIME_DIR": str(tmp_path),
        }
        interrupted += interrupt(moment, command, *arguments, **variables)
        assert list(cache.rglob("*.part*")) == []
        # Every copy in the cache is complete.
        for copy in cache.glob("graphdbg/fetched/*/run"):
            assert records(copy) == expected
        assert list(scratch.iterdir()) == []
    assert records(original) == expected
    assert interrupted > 0 or command == "open"


def test_a_file_elsewhere_that_was_not_written_whole_is_removed(tmp_path):
    pytest.importorskip("fsspec")
    files = open_files(f"local://{tmp_path}/copy")
    with pytest.raises(KeyboardInterrupt), files._whole("run.json") as stream:
        stream.write(b"{")
        raise KeyboardInterrupt
    assert files.names() == []
    files.write("run.json", b"{}")
    assert files.names() == ["run.json"]


# Sends Ctrl-C when a module is imported.
INTERRUPTED_IMPORT = """
import signal, sys
class Finder:
    def find_spec(self, name, path, target=None):
        if name == sys.argv[1]:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Finder())
from graphdbg.cli import main
sys.exit(main.main(["runs", sys.argv[2]]))
"""


@pytest.mark.parametrize("module", ["graphdbg.cli.command_runs", "datetime"])
def test_while_modules_are_imported(tmp_path, module):
    ran = start(module, tmp_path, program=INTERRUPTED_IMPORT)
    assert ran.communicate(timeout=120) == ("", "") and ran.returncode == 130
