"""Values that are not finite and reach other ranks through collectives, in recorded runs of real ranks."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import graphdbg
import pytest
from conftest import PACKAGE, clean_environment, run_together

pytest.importorskip("duckdb")

# Rank 1 executes more ops than rank 0 before the logarithm of zero, whose result both receive.
TRAIN = """
import os, sys, time
import torch, torch.distributed as dist
from torch import nn

rank = int(os.environ["RANK"])
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"file://{sys.argv[1]}", rank=rank, world_size=2)
torch.manual_seed(0)
model = nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(1, 5):
    sent = torch.ones(4)
    if rank == 1:
        for _ in range(30):
            sent = sent * 1.0
        sent = torch.log(sent * (0 if step == 3 else 1))
    dist.all_reduce(sent)
    optimizer.zero_grad()
    (model(torch.ones(4)) + sent).sum().backward()
    optimizer.step()
dist.destroy_process_group()
time.sleep(0.5)
"""


@pytest.mark.parametrize("engine", ["log", "duckdb"])
def test_the_first_is_that_of_the_rank_that_sent_it(tmp_path: Path, engine: str) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    settings = {"record": {"overhead": 0, "when_full": "block"}, "collections": [{"name": "all"}]}
    ranks = [
        (
            [sys.executable, str(tmp_path / "train.py"), str(tmp_path / "meeting")],
            clean_environment(
                PYTHONPATH=str(PACKAGE / "_inject"),
                GRAPHDBG_RECORD=str(tmp_path / "runs"),
                GRAPHDBG_RECORD_SETTINGS=json.dumps(settings),
                GRAPHDBG_JOB="pair",
                RANK=str(rank),
                WORLD_SIZE="2",
            ),
        )
        for rank in range(2)
    ]
    assert run_together(ranks) == [0, 0]
    run = graphdbg.open_run(tmp_path / "runs" / "pair")
    (found,) = run.check({"rule": "first_non_finite"}, engine=engine)
    assert (found.rank, found.tensor, found.step) == (1, "forward/log:0", 3)
    assert "4 infinities of 4 values; origin: the inputs were finite" in found.message
