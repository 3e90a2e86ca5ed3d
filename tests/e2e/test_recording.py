"""Real PyTorch jobs that are recorded, with and without a server, to their end and until they are killed."""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import HOSTS, PACKAGE, clean_environment, wait_until
from recorded_rank import (
    BEGIN,
    END,
    EVAL,
    HIT,
    PREDICT,
    STATISTICS,
    TRAIN,
    RecordedRank,
    messages,
    only_run,
)

PYTHON = sys.executable
REGRESSION = str(HOSTS / "small_regression.py")

# Trains forever, and evaluates every third step.
ENDLESS = """
import sys, torch
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.002)
x, y = torch.randn(64, 8), torch.randn(64, 1)
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 10**9
for step in range(1, steps + 1):
    if step % 3 == 0:
        model.eval()
        with torch.no_grad():
            for _ in range(2):
                torch.nn.functional.mse_loss(model(x), y)
        model.train()
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""


def environment(**variables: str) -> dict[str, str]:
    """Nothing but a directory has to be given. The package is injected, in case it is not installed."""
    return clean_environment(PYTHONPATH=str(PACKAGE / "_inject"), OMP_NUM_THREADS="1") | variables


def record(tmp_path: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PYTHON, *command],
        env=environment(GRAPHDBG_RECORD="runs", **variables),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )


def configured(tmp_path: Path, text: str) -> dict[str, str]:
    file = tmp_path / "job.yaml"
    file.write_text(text)
    return {"GRAPHDBG_CONFIG": str(file)}


def rank_of(runs: Path) -> RecordedRank:
    return RecordedRank(only_run(runs) / "rank-00000")


def printed(output: str, name: str) -> dict[int, tuple[float, float]]:
    """Mean and largest absolute value that the program printed of a tensor, by step."""
    lines = re.findall(rf"^{name} (\d+) (\S+) (\S+)", output, re.MULTILINE)
    return {int(step): (float(mean), float(largest)) for step, mean, largest in lines}


def test_statistics_are_those_that_the_program_computes(tmp_path: Path) -> None:
    run = record(tmp_path, REGRESSION, GRAPHDBG_RECORD_OVERHEAD="0")
    assert run.returncode == 0
    assert re.fullmatch(r"graphdbg: recording to \S+/runs/small_regression.py-\d{8}-\d{6}-[0-9a-f]{4}\n", run.stderr)
    rank = rank_of(tmp_path / "runs")
    assert rank.description["ended"]["reason"] == "exit"
    assert rank.description["ended"]["steps"] == 8
    assert rank.description["ring"] is None
    assert list(rank.positions) == list(range(len(rank.positions)))

    expected = printed(run.stdout, "weight")
    by_node = [rank.values(node) for node in rank.collection("weights")]
    (weight,) = [values for values in by_node if values[0]["count"] == 128]
    assert list(weight["step"]) == list(expected)
    for value in weight:
        mean, largest = expected[int(value["step"])]
        assert value["mean"] == pytest.approx(mean, rel=1e-12)
        assert value["abs_max"] == largest
    expected = printed(run.stdout, "relu")
    by_node = [rank.values(node) for node in rank.collection("layers")]
    means = pytest.approx([mean for mean, _ in expected.values()])
    assert any([float(mean) for mean in values["mean"]] == means for values in by_node)
    losses = [float(loss) for loss in re.findall(r"loss (\S+)$", run.stdout, re.MULTILINE)]
    (loss,) = rank.collection("losses")
    assert list(rank.values(loss)["mean"]) == pytest.approx(losses, rel=1e-6)
    assert {len(rank.values(node)) for node in rank.collection("gradients")} == {8}


def test_every_step_and_evaluation_is_marked(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(ENDLESS)
    assert record(tmp_path, str(script), "7", GRAPHDBG_RECORD_OVERHEAD="0").returncode == 0
    rank = rank_of(tmp_path / "runs")
    ends = rank.marks(END)
    steps = ends[ends["pass"] == 0]
    assert list(steps["step"]) == list(range(1, 8))
    assert set(steps["mode"]) == {TRAIN}
    passes = ends[ends["pass"] != 0]
    # Two batches before steps 3 and 6.
    assert [tuple(each) for each in passes[["step", "mode", "pass", "mode_step"]]] == [
        (3, EVAL, 1, 1),
        (3, EVAL, 2, 2),
        (6, EVAL, 1, 3),
        (6, EVAL, 2, 4),
    ]
    assert len(rank.marks(BEGIN)) == len(ends)
    measured = rank.measured()
    for end in steps:
        assert end["records"] == (measured["step"] == end["step"]).sum()
    for end in passes:
        of_pass = (measured["step"] == end["step"]) & (measured["mode"] == EVAL)
        assert end["records"] == (of_pass & (measured["pass"] == end["pass"])).sum() > 0


def test_inference_has_a_mode_of_its_own(tmp_path: Path) -> None:
    script = (
        "import torch\nmodel = torch.nn.Linear(4, 2)\n"
        "with torch.no_grad():\n    for _ in range(3): model(torch.randn(5, 4))\n"
    )
    assert record(tmp_path, "-c", script).returncode == 0
    ends = rank_of(tmp_path / "runs").marks(END)
    assert list(ends["mode"]) == [PREDICT] * 3
    assert list(ends["mode_step"]) == [1, 2, 3]


def head_of(ring: Path) -> int:
    with ring.open("rb") as file:
        file.seek(128)
        (head,) = struct.unpack("<Q", file.read(8))
    return int(head)


def killed(tmp_path: Path, start_job: Callable[..., Any], number: int, **variables: str) -> RecordedRank:
    """The recording of a job that was killed in the midst of training."""
    script = tmp_path / "train.py"
    script.write_text(ENDLESS)
    job = start_job([PYTHON, str(script)], environment(GRAPHDBG_RECORD=str(tmp_path / "runs"), **variables))
    description = wait_until("the recording", lambda: next((tmp_path / "runs").glob("*/rank-00000/rank.json"), None))
    ring = description.parent / json.loads(description.read_text())["ring"]
    wait_until("records", lambda: head_of(ring) > 3000)
    job.send_signal(number)
    job.wait(timeout=60)
    return RecordedRank(description.parent)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
@pytest.mark.parametrize("place", ["", "/dev/shm"])
def test_a_killed_job_loses_no_record(
    tmp_path: Path, start_job: Callable[..., Any], number: signal.Signals, place: str
) -> None:
    variables = {"GRAPHDBG_RING_DIR": place} if place else {}
    rank = killed(tmp_path, start_job, number, GRAPHDBG_RECORD_OVERHEAD="0", **variables)
    ring = rank.ring_path()
    assert ring is not None
    if place:
        assert ring.parent == Path(place)
        ring.unlink()
    assert rank.description["ended"] is None
    # Nobody was in the midst of appending, or one thread was.
    missing = set(range(rank.positions[-1] + 1)) - set(rank.positions)
    assert len(missing) <= 1
    ends = rank.marks(END)
    steps = ends[ends["pass"] == 0]
    assert list(steps["step"]) == list(range(1, len(steps) + 1))
    measured = rank.measured()
    for end in steps:
        assert end["records"] == (measured["step"] == end["step"]).sum()
        assert end["records_dropped"] == 0
    # The step in which it died is there as far as it got.
    assert measured["step"][-1] in (steps["step"][-1], steps["step"][-1] + 1)
    assert len(messages(rank.directory / "graph.gdbm")) > 0


def test_only_the_newest_are_kept_if_so_configured(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(ENDLESS)
    ring = {"GRAPHDBG_RECORD_KEEP": "ring", "GRAPHDBG_RING": "1MiB", "GRAPHDBG_RECORD_OVERHEAD": "0"}
    assert record(tmp_path, str(script), "600", **ring).returncode == 0
    rank = rank_of(tmp_path / "runs")
    assert len(rank.records) == ((1 << 20) - 4096) // 160
    assert rank.marks(END)["step"][-1] == 600
    assert rank.positions[0] > 0


def test_without_a_server_the_agent_checks_the_configured_watchpoints(tmp_path: Path) -> None:
    script = (
        "import torch\nmodel = torch.nn.Linear(4, 2)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "for step in range(1, 8):\n"
        "    x = torch.full((3, 4), float('nan') if step == 3 else 1.0)\n"
        "    optimizer.zero_grad(); model(x).sum().backward(); optimizer.step()\n"
    )
    variables = configured(
        tmp_path,
        "watchpoints: [{condition: nan, patterns: ['forward/addmm']}]\n"
        "record: {after_hit: 2, overhead: 0}\n"
        "collections: [{name: only_x, include: ['^forward/input']}, {name: none, include: ['forwrd/addm']}, "
        "{name: types, op_types: ['aten::adm']}, {name: metrics}]\n",
    )
    run = record(tmp_path, "-c", script, **variables)
    assert run.returncode == 0
    assert "collection none has selected nothing; nearest names: forward/addmm" in run.stderr
    assert "collection types has selected nothing; nearest types of ops: aten::a" in run.stderr
    assert "collection metrics has selected nothing\n" in run.stderr
    rank = rank_of(tmp_path / "runs")
    hits = rank.of_kind(HIT)
    # The parameters are NaN from then on.
    assert list(hits["step"]) == [3, 4, 5, 6, 7]
    assert list(hits["count"]) == [1, 2, 3, 4, 5], "places in hits.gdbm"
    assert len(messages(rank.directory / "hits.gdbm")) == 5
    statistics = rank.of_kind(STATISTICS)
    by_step = {step: len(set(statistics[statistics["step"] == step]["node"])) for step in range(1, 8)}
    assert by_step[2] == by_step[3] == by_step[6] == by_step[7] == 1
    assert by_step[4] == by_step[5] > 5


def test_collections_have_schedules_of_their_own(tmp_path: Path) -> None:
    variables = configured(
        tmp_path,
        "save: {every: 2}\nrecord: {overhead: 0}\n"
        "collections:\n  - {name: weights, save: {every: 3}}\n  - {name: losses}\n"
        "  - {name: relu, op_types: ['aten::relu'], level: light, save: {steps: [1], start: 100}}\n",
    )
    assert record(tmp_path, REGRESSION, **variables).returncode == 0
    rank = rank_of(tmp_path / "runs")
    for name, steps in (("weights", {3, 6}), ("losses", {2, 4, 6, 8}), ("relu", {1})):
        for node in rank.collection(name):
            assert set(rank.values(node)["step"]) == steps, name
    (relu,) = rank.collection("relu")
    assert set(rank.values(relu)["flags"]) == {1}
    ends = rank.marks(END)
    assert list(ends["reason"]) == [0, 0, 0, 0, 2, 0, 2, 0]


def test_a_second_process_of_the_rank_records_nothing(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    again = "subprocess.run([sys.executable, __file__, '2', 'again']).returncode"
    script.write_text(f"{ENDLESS}import subprocess\nif len(sys.argv) == 2:\n    sys.exit({again})\n")
    run = record(tmp_path, str(script), "3", GRAPHDBG_JOB="job")
    assert run.returncode == 0
    assert re.search(r"nothing is recorded: another process records rank 0 of \S+/runs/job\n", run.stderr)
    assert rank_of(tmp_path / "runs").description["ended"]["steps"] == 3


def test_a_restart_is_a_run_that_continues_the_one_before(tmp_path: Path) -> None:
    for _ in range(2):
        assert record(tmp_path, REGRESSION, GRAPHDBG_JOB="job").returncode == 0
    assert json.loads((tmp_path / "runs" / "job" / "run.json").read_text())["resumes"] is None
    assert json.loads((tmp_path / "runs" / "job.2" / "run.json").read_text())["resumes"] == "job"


def test_workers_that_are_forked_leave_the_recording_alone(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\nfrom torch.utils.data import DataLoader\n"
        "model = torch.nn.Linear(4, 1)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "class Data(torch.utils.data.Dataset):\n"
        "    def __len__(self): return 12\n"
        "    def __getitem__(self, i): return torch.full((4,), float(i)) * 2\n"
        "for epoch in range(3):\n"
        "    for x in DataLoader(Data(), batch_size=4, num_workers=2, multiprocessing_context='fork'):\n"
        "        optimizer.zero_grad(); model(x).sum().backward(); optimizer.step()\n"
    )
    run = record(tmp_path, str(script), GRAPHDBG_RECORD_OVERHEAD="0")
    assert run.returncode == 0, run.stderr
    rank = rank_of(tmp_path / "runs")
    ends = rank.marks(END)
    assert list(ends["step"]) == list(range(1, 10))
    assert rank.description["ended"]["reason"] == "exit"


def test_training_goes_on_where_nothing_can_be_recorded(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("not a directory")
    run = record(tmp_path, REGRESSION)
    assert run.returncode == 0
    assert len(re.findall("^step", run.stdout, re.MULTILINE)) == 8
    (line,) = run.stderr.splitlines()
    assert re.match(r"graphdbg: nothing is recorded: cannot create the directory \S*runs: File exists", line)


def test_an_exception_is_how_the_run_ended(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(ENDLESS + "raise ValueError('no more data')\n")
    assert record(tmp_path, str(script), "2").returncode == 1
    ended = rank_of(tmp_path / "runs").description["ended"]
    assert ended["reason"] == "exception"
    assert ended["exit_code"] == 1
    assert ended["exception"] == {"type": "ValueError", "message": "no more data"}


def test_nothing_is_recorded_unless_asked_for(tmp_path: Path) -> None:
    run = subprocess.run(
        [PYTHON, REGRESSION], env=environment(), cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0
    assert run.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_graphdbg_run_records_beside_its_server(debug_run: Callable[..., Any], tmp_path: Path) -> None:
    run = debug_run(
        "--no-wait", "--record", str(tmp_path / "runs"), "--break-on", "abs_max_gt:1e30", command=[PYTHON, REGRESSION]
    )
    assert run.result["status"] == "finished"
    directory = only_run(tmp_path / "runs")
    assert run.result["run"] == str(directory)
    rank = RecordedRank(directory / "rank-00000")
    assert rank.description["ended"]["steps"] == 8
    assert len(rank.marks(END)) == 8


def test_run_local_says_where_it_has_recorded(tmp_path: Path) -> None:
    script = (
        "import graphdbg, torch\n"
        "def train():\n"
        "    model = torch.nn.Linear(4, 1)\n"
        "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "    for _ in range(3):\n"
        "        optimizer.zero_grad(); model(torch.ones(2, 4)).sum().backward(); optimizer.step()\n"
        "print(graphdbg.run_local(train, record='runs').run)\n"
    )
    run = subprocess.run(
        [PYTHON, "-c", script],
        env=clean_environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == str(only_run(tmp_path / "runs"))
    assert rank_of(tmp_path / "runs").description["ended"]["steps"] == 3


def test_the_overhead_limit_leaves_whole_steps_out(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(ENDLESS)
    variables = configured(tmp_path, "collections: [{name: all}]\nrecord: {overhead: 0.0001}\n")
    assert record(tmp_path, str(script), "50", **variables).returncode == 0
    rank = rank_of(tmp_path / "runs")
    ends = rank.marks(END)
    steps = ends[ends["pass"] == 0]
    statistics = rank.of_kind(STATISTICS)
    assert steps["reason"][0] == 0
    left_out = set(steps[steps["reason"] == 1]["step"])
    assert left_out
    assert left_out.isdisjoint(set(statistics["step"]))


def test_a_run_costs_its_launcher_nothing() -> None:
    """A Python that trains nothing does not load the agent."""
    run = subprocess.run(
        [PYTHON, "-c", "import sys; print([name for name in sys.modules if name.startswith('graphdbg._config')])"],
        env=environment(GRAPHDBG_RECORD=os.devnull),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.stdout == "[]\n"
    assert run.stderr == ""


def test_time_does_not_run_backwards(tmp_path: Path) -> None:
    before = time.time_ns()
    assert record(tmp_path, REGRESSION).returncode == 0
    rank = rank_of(tmp_path / "runs")
    begins = rank.of_kind(BEGIN)
    unix = list(begins["count"])
    assert before <= unix[0] <= unix[-1] <= time.time_ns()
    monotonic = list(begins["nan_count"])
    assert monotonic == sorted(monotonic)
