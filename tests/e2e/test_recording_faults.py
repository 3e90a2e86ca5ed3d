"""Faults while a job is recorded: rows of the table in agent/docs/recording.md."""

from __future__ import annotations

import itertools
import json
import re
import resource
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import GRAPHDBG, clean_environment, wait_until
from recorded_rank import END, RecordedRank, only_run
from test_recording import ENDLESS, PYTHON, REGRESSION, environment, rank_of, record

FULL = 300_000


def steps_of(rank: RecordedRank) -> list[int]:
    """The steps that ended."""
    ends = rank.marks(END)
    return [int(step) for step in ends[ends["pass"] == 0]["step"]]


def assert_whole(rank: RecordedRank) -> None:
    """Each step that ended has all records that its end counts."""
    ends = rank.marks(END)
    computed = rank.measured()
    for end in ends[ends["pass"] == 0]:
        assert end["records"] == (computed["step"] == end["step"]).sum()


def test_an_exit_without_cleaning_up_loses_nothing(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(f"{ENDLESS}import os\nos._exit(5)\n")
    assert record(tmp_path, str(script), "40", GRAPHDBG_RECORD_OVERHEAD="0").returncode == 5
    rank = rank_of(tmp_path / "runs")
    assert rank.description["ended"] is None
    assert steps_of(rank) == list(range(1, 41))
    assert_whole(rank)
    ran = subprocess.run([GRAPHDBG, "runs", str(tmp_path / "runs"), "--json"], capture_output=True, text=True)
    assert ran.returncode == 0
    assert [(each["ended"], each["steps"]) for each in json.loads(ran.stdout)["runs"]] == [("lost", 40)]


def test_training_goes_on_in_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    # Nobody, root included, can make a directory there.
    run = subprocess.run(
        [PYTHON, REGRESSION],
        env=environment(GRAPHDBG_RECORD="/proc/runs"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0
    assert len(re.findall("^step", run.stdout, re.MULTILINE)) == 8
    (line,) = run.stderr.splitlines()
    assert line.startswith("graphdbg: nothing is recorded: cannot create the directory /proc/runs")


def started(tmp_path: Path, start_job: Callable[..., Any], **variables: str) -> tuple[Any, Path]:
    """A job that trains forever, once it records; and the directory of its rank."""
    script = tmp_path / "train.py"
    script.write_text(ENDLESS)
    variables = {"GRAPHDBG_RECORD": str(tmp_path / "runs"), "GRAPHDBG_RECORD_OVERHEAD": "0", **variables}
    job = start_job([PYTHON, str(script)], environment(**variables))
    rank = wait_until("the recording", lambda: next((tmp_path / "runs").glob("*/rank-00000/rank.json"), None)).parent
    wait_until("a log", lambda: any(file.stat().st_size > 10_000 for file in (rank / "log").iterdir()))
    assert job.stderr.readline().startswith("graphdbg: recording to ")
    return job, rank


@pytest.mark.long
def test_training_goes_on_when_the_directory_is_deleted(tmp_path: Path, start_job: Callable[..., Any]) -> None:
    job, rank = started(tmp_path, start_job)
    # A file may be created meanwhile.
    wait_until("an empty directory", lambda: shutil.rmtree(tmp_path / "runs", True) or not rank.exists())
    line = job.stderr.readline()
    assert re.match(r"graphdbg: recording: cannot .*; nothing more is recorded$", line), line
    cpu = Path(f"/proc/{job.pid}/stat")
    before = cpu.read_text().split()[13]
    wait_until("more training", lambda: int(cpu.read_text().split()[13]) > int(before) + 20)
    assert job.poll() is None
    job.kill()
    _, rest = job.communicate()
    assert rest == ""
    assert not rank.exists()


def test_recording_continues_when_the_disk_has_room_again(tmp_path: Path, start_job: Callable[..., Any]) -> None:
    job, directory = started(tmp_path, start_job, GRAPHDBG_RING="1MiB")
    # No file may grow beyond this, which the writer treats like a full disk.
    _, hard = resource.prlimit(job.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(job.pid, resource.RLIMIT_FSIZE, (FULL, hard))
    full = job.stderr.readline()
    assert re.match(r"graphdbg: .*(full|too large).*", full, re.IGNORECASE), full
    # Nothing was lost until here.
    assert "the ring is full, so records are dropped" in job.stderr.readline()
    resource.prlimit(job.pid, resource.RLIMIT_FSIZE, (hard, hard))
    assert "there is room again: recording continues" in job.stderr.readline()
    # Beyond what the ring held back.
    log = directory / "log"
    wait_until("a longer log", lambda: sum(file.stat().st_size for file in log.iterdir()) > FULL + (3 << 20))
    job.kill()
    job.communicate()
    rank = RecordedRank(directory)
    # Records that did not fit into the ring are missing and counted; no others are.
    ring = rank.ring_path()
    assert ring is not None and struct.unpack("<Q", ring.read_bytes()[256:264])[0] > 0
    ends = rank.marks(END)
    steps = steps_of(rank)
    assert sum(later != step + 1 for step, later in itertools.pairwise(steps)) <= 1
    computed = rank.measured()
    whole = ends[(ends["pass"] == 0) & (ends["records_dropped"] == 0)]
    assert len(whole) >= len(steps) - 2
    for end in whole:
        assert end["records"] == (computed["step"] == end["step"]).sum()
    ran = subprocess.run([GRAPHDBG, "runs", str(tmp_path / "runs")], capture_output=True, text=True)
    assert ran.returncode == 0 and ran.stderr == ""


def test_conditions_are_checked_without_pyarrow(tmp_path: Path) -> None:
    # It is not packed in the background meanwhile.
    unpacked = json.dumps({"record": {"parquet": False}})
    assert record(tmp_path, REGRESSION, GRAPHDBG_RECORD_SETTINGS=unpacked).returncode == 0
    (tmp_path / "pyarrow.py").write_text("raise ImportError('not here')\n")
    (tmp_path / "duckdb.py").write_text("raise ImportError('not here')\n")
    variables = clean_environment(PYTHONPATH=str(tmp_path))
    run = str(only_run(tmp_path / "runs"))

    def graphdbg(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([GRAPHDBG, *arguments], env=variables, capture_output=True, text=True, timeout=120)

    ran = graphdbg("recheck", run, "abs_max_gt:0")
    assert ran.returncode == 1 and "step 1 " in ran.stdout
    assert graphdbg("show", run).returncode == graphdbg("runs", run).returncode == 0
    ran = graphdbg("rules", run, "--rule", "exploding_tensor", "--json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["rules"][0]["observations"] > 0
    # The same holds for a run whose log is packed but still complete.
    (Path(run) / "parquet" / "records" / "rank=0").mkdir(parents=True, exist_ok=True)
    (Path(run) / "parquet" / "records" / "rank=0" / "00000001-00000008.parquet").touch()
    assert graphdbg("recheck", run, "abs_max_gt:0").returncode == 1
    ran = graphdbg("pack", run)
    assert ran.returncode == 3 and "pip install 'graphdbg[analysis]'" in ran.stderr
