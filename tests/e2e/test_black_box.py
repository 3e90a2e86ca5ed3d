"""Real PyTorch jobs that keep their last steps in a black box, and are killed or hang within an op."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphdbg
import pytest
from conftest import GRAPHDBG, PACKAGE, clean_environment, wait_until

PYTHON = sys.executable
# Trains with an op of its own, which calls `fate()` in the step that is named.
SCRIPT = """
import ctypes, os, signal, sys, time, torch

def hang():
    open(sys.argv[3], "w").close()
    time.sleep(3600)

def allocate():
    import resource
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (used + (1 << 28), used + (1 << 28)))
    blocks = []
    try:
        while True:
            blocks.append(bytearray(1 << 24))
    except MemoryError:
        os.abort()

fate = {
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "segv": lambda: ctypes.string_at(0),
    "memory": allocate,
    "hang": hang,
}[sys.argv[1]]
last = int(sys.argv[2])
step = 0

@torch.library.custom_op("probe::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    if step == last and int(os.environ.get("RANK", "0")) == int(os.environ.get("DIES", "0")):
        fate()
    return x * 2

twice.register_autograd(lambda context, gradient: gradient * 2)

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 16), torch.nn.Linear(16, 1)
    def forward(self, x):
        return self.second(twice(self.first(x)))

torch.manual_seed(1)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
x, y = torch.randn(64, 8), torch.randn(64, 1)
while True:
    step += 1
    if step == 3 and "TRAINS" in os.environ:
        open(os.environ["TRAINS"] + os.environ["RANK"], "w").close()
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "train.py"
    file.write_text(SCRIPT)
    return file


def environment(**variables: str) -> dict[str, str]:
    return clean_environment(PYTHONPATH=str(PACKAGE / "_inject"), OMP_NUM_THREADS="1") | variables


def start(script: Path, box: Path, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [PYTHON, str(script), *arguments],
        env=environment(GRAPHDBG_BLACK_BOX=str(box), **variables),
        stderr=subprocess.PIPE,
        text=True,
        cwd=script.parent,
    )


def only_run(box: Path) -> graphdbg.runs.Run:
    (directory,) = box.iterdir()
    return graphdbg.open_run(directory)


def show(run: Path) -> dict[str, Any]:
    done = subprocess.run(
        [GRAPHDBG, "show", str(run), "--json"], capture_output=True, text=True, env=clean_environment(), check=True
    )
    shown: dict[str, Any] = json.loads(done.stdout)
    return shown


def assert_died_in_the_op(run: graphdbg.runs.Run, script: Path, step: int, rank: int = 0) -> None:
    op = run.unfinished_ops(rank)[0]
    assert (op.rank, op.step) == (rank, step)
    assert "twice" in op.node
    assert op.source is not None
    assert op.source.file == str(script)
    assert "twice(self.first(x))" in script.read_text().splitlines()[op.source.line - 1]


@pytest.mark.long(but=["kill", "segv"])
@pytest.mark.parametrize(
    ("fate", "number"), [("kill", signal.SIGKILL), ("segv", signal.SIGSEGV), ("memory", signal.SIGABRT)]
)
def test_a_job_that_is_killed_leaves_its_last_steps_and_the_op(
    script: Path, tmp_path: Path, fate: str, number: int
) -> None:
    box = tmp_path / "box"
    job = start(script, box, fate, "130")
    _, errors = job.communicate(timeout=120)
    assert job.returncode == -number, errors
    run = only_run(box)
    assert run.ended == "lost"
    assert_died_in_the_op(run, script, 130)
    steps = run.steps()
    assert steps[-1] == 130
    assert set(range(30, 131)) <= set(steps)
    assert not run.damages
    # Every op of a complete step: outputs of the forward and backward pass, and the optimizer.
    tensors = run.tensors(step=129)
    assert len([name for name in tensors if name.startswith("backward/")]) > 3
    assert any("second/weight" in name for name in tensors)
    shown = show(Path(run.path))
    assert shown["last_ops"][0]["unfinished"]
    # Nothing but the ring was written.
    assert not list(Path(run.path).glob("rank-00000/log/*"))


def test_a_crash_at_the_first_execution_names_the_op_and_its_line(script: Path, tmp_path: Path) -> None:
    box = tmp_path / "box"
    job = start(script, box, "segv", "1")
    job.communicate(timeout=120)
    assert job.returncode == -signal.SIGSEGV
    assert_died_in_the_op(only_run(box), script, 1)


def test_a_hang_is_visible_while_it_lasts_and_after_it_was_killed(script: Path, tmp_path: Path) -> None:
    box, reached = tmp_path / "box", tmp_path / "reached"
    job = start(script, box, "hang", "5", str(reached))
    try:
        wait_until("the op hangs", reached.exists)
        run = only_run(box)
        assert run.ended is None
        assert_died_in_the_op(run, script, 5)
    finally:
        job.kill()
        job.communicate(timeout=30)
    assert_died_in_the_op(only_run(box), script, 5)
    done = subprocess.run(
        [GRAPHDBG, "show", str(box / os.listdir(box)[0])], capture_output=True, text=True, env=clean_environment()
    )
    assert "rank 0: in forward/" in done.stdout and "op " in done.stdout


def test_each_of_two_ranks_has_its_own_last_op(script: Path, tmp_path: Path) -> None:
    box, reached, other = tmp_path / "box", tmp_path / "reached", tmp_path / "trains0"
    variables = {"WORLD_SIZE": "2", "GRAPHDBG_JOB": "two", "DIES": "1", "TRAINS": str(tmp_path / "trains")}
    ranks = [start(script, box, "hang", "7", str(reached), RANK=str(rank), **variables) for rank in range(2)]
    try:
        wait_until("the op hangs", reached.exists)
        wait_until("the other rank trains", other.exists)
    finally:
        for job in ranks:
            job.kill()
            job.communicate(timeout=30)
    run = only_run(box)
    assert run.ranks == [0, 1]
    assert_died_in_the_op(run, script, 7, rank=1)
    assert run.last_ops(0)


def test_the_command_prints_what_a_killed_job_was_doing(script: Path, tmp_path: Path) -> None:
    box = tmp_path / "box"
    done = subprocess.run(
        [GRAPHDBG, "run", "--black-box", str(box), "--", PYTHON, str(script), "kill", "3"],
        capture_output=True,
        text=True,
        env=clean_environment(OMP_NUM_THREADS="1"),
        timeout=120,
    )
    assert done.returncode == 128 + signal.SIGKILL
    assert "graphdbg: the job was killed by SIGKILL" in done.stderr
    assert "rank 0: in forward/" in done.stderr
    assert "graphdbg open " in done.stderr


def test_the_command_refuses_options_that_need_a_server(tmp_path: Path) -> None:
    command = [GRAPHDBG, "run", "--black-box", str(tmp_path), "--break-on", "nan", "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, env=clean_environment())
    assert done.returncode == 2
    assert "--break-on needs a server" in done.stderr


def test_packing_a_lost_run_keeps_the_last_ops(script: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    box = tmp_path / "box"
    start(script, box, "kill", "20").communicate(timeout=120)
    run = only_run(box)
    subprocess.run([GRAPHDBG, "pack", run.path], check=True, env=clean_environment())
    assert not (Path(run.path) / "rank-00000" / "ring.gdbr").exists()
    assert_died_in_the_op(graphdbg.open_run(run.path), script, 20)


@pytest.mark.parametrize("edit", [lambda data: data[:600], lambda data: b"GDBGOPS\x02" + data[8:], lambda data: b""])
def test_a_damaged_file_of_last_ops_is_reported(script: Path, tmp_path: Path, edit: Callable[[bytes], bytes]) -> None:
    box = tmp_path / "box"
    start(script, box, "kill", "5").communicate(timeout=120)
    run = only_run(box)
    file = Path(run.path) / "rank-00000" / "ring.gdbr.ops"
    file.write_bytes(edit(file.read_bytes()))
    assert run.last_ops() == []
    assert any("ring.gdbr.ops" in str(damage) for damage in run.damages)
    assert run.steps()[-1] == 5
