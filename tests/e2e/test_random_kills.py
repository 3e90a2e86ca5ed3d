"""A job that is killed at a random moment loses nothing that it has recorded, and its run can be opened.

GRAPHDBG_KILLS is the number of jobs; GRAPHDBG_SEED repeats a series.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import graphdbg
import pytest
from conftest import GRAPHDBG, clean_environment, kill_group
from graphdbg.runs import DataLossError
from graphdbg.runs.record import SAVED
from recorded_rank import END, RecordedRank, only_run

KILLS = int(os.environ.get("GRAPHDBG_KILLS", "6"))
SEED = int(os.environ.get("GRAPHDBG_SEED", "0")) or random.randrange(1, 1 << 31)
LONGEST_SECONDS = 1.0

# Writes its process id, and the number of each step after it.
TRAINS = """
import os
import sys
import torch
out = open(sys.argv[1], "w", buffering=1)
print(os.getpid(), file=out)
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
x = torch.randn(16, 64)
step = 0
while True:
    optimizer.zero_grad()
    net(x).pow(2).mean().backward()
    optimizer.step()
    step += 1
    print(step, file=out)
"""
CONFIGURATION = """
record: {overhead: 0, parquet: false}
collections: [{name: all}, {name: weights, level: tensors, save: {every: 2}}]
"""


def lines_of(file: Path) -> list[str]:
    # The last line may be cut short.
    return file.read_text().split("\n")[:-1] if file.exists() else []


@pytest.mark.parametrize("number", range(KILLS))
def test_nothing_is_lost(tmp_path: Path, number: int) -> None:
    choice = random.Random(f"{SEED} {number}")
    script, progress, config = tmp_path / "train.py", tmp_path / "progress", tmp_path / "job.yaml"
    script.write_text(TRAINS)
    config.write_text(CONFIGURATION)
    command = [sys.executable, str(script), str(progress)]
    variables = {"GRAPHDBG_RECORD": str(tmp_path / "runs"), "GRAPHDBG_CONFIG": str(config)}
    if number % 2:
        command = [GRAPHDBG, "run", "--no-wait", f"--record={tmp_path / 'runs'}", f"--config={config}", "--", *command]
        variables = {}
    job = subprocess.Popen(
        command,
        env=clean_environment(**variables),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 120
        while len(lines_of(progress)) < 2:
            assert job.poll() is None and time.monotonic() < deadline, job.communicate(timeout=60)
            time.sleep(0.01)
        # The random moment.
        time.sleep(choice.uniform(0, LONGEST_SECONDS))
        os.kill(int(lines_of(progress)[0]), choice.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGSEGV]))
        job.communicate(timeout=120)
    except BaseException:
        kill_group(job)
        raise
    place = f"GRAPHDBG_SEED={SEED}, number {number}"
    last = int(lines_of(progress)[-1])
    directory = only_run(tmp_path / "runs")
    run = graphdbg.open_run(directory)
    assert (run.ended, run.damages) == ("lost", []), place
    rank = RecordedRank(directory / "rank-00000")
    ends = rank.marks(END)[rank.marks(END)["pass"] == 0]
    steps = ends["step"].tolist()
    # A step has ended when `optimizer.step()` returns, which is before the program writes its number.
    assert steps in (list(range(1, last + 1)), list(range(1, last + 2))), place
    assert set(steps) <= set(run.steps()), place
    measured = Counter(rank.measured()["step"].tolist())
    # The optimizer runs more ops in the first step.
    assert len({measured[step] for step in steps[1:]}) <= 1, place
    saved = run.rank(0).saved().records.view(SAVED)
    promised = sum(int(end["records"]) - measured[int(end["step"])] for end in ends)
    # What was still in the buffers is lost: values of the last steps, which are less than 64 MiB.
    lost = promised - sum(_is_whole(run, each) for each in saved if each["step"] <= steps[-1])
    assert 0 <= lost * 64 * 64 * 4 < 64 << 20, place


def _is_whole(run: graphdbg.runs.Run, saved: Any) -> bool:
    try:
        run.rank(0).read_saved(saved)
    except DataLossError:
        return False
    return True
