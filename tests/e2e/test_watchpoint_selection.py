"""What watchpoints select, and breakpoints on lines, in real PyTorch jobs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import graphdbg
import pytest
from conftest import Server, marked_line, wait_until
from graphdbg.client import InvalidRequestError, Job

# Two layers of each kind, a line with several ops, and an op in float16.
SCRIPT = """
import sys

import torch

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.fc(x))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Block()
        self.decoder = Block()

    def forward(self, x):
        x = self.encoder(x)
        x = torch.tanh(x * 2)  # breakpoint
        half = x.half() * 2
        return self.decoder(half.float())


net = Net()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(int(sys.argv[1])):
    optimizer.zero_grad()
    net(torch.ones(2, 4)).sum().backward()
    optimizer.step()
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "selected.py"
    path.write_text(SCRIPT)
    return path


@pytest.fixture
def job(server: Server, script: Path, start_job: Any) -> Job:
    """A job that waits before its first step, when no op is known yet."""
    environment = server.job_environment(GRAPHDBG_JOB="train", GRAPHDBG_OVERVIEW="0")
    start_job([sys.executable, str(script), "100000"], environment)
    server.wait_for_state("train", "paused", pause_reason="start")
    return graphdbg.connect(server.addresses["http_address"], data_dir=server.data_dir).job("train")


def nodes_after_a_step(server: Server, job: Job) -> list[str]:
    """The nodes with hits of the next step, in the order of execution."""
    before = job.refresh().step
    job.step()
    server.wait_for_state("train", "paused", pause_reason="step", step=before + 1)
    return [hit.node for hit in job.hits() if hit.step == before + 1]


def test_a_line_stops_the_job_in_the_first_step_once_per_run(server: Server, job: Job, script: Path) -> None:
    line = marked_line(script, "# breakpoint")
    breakpoint_ = job.watch("executed", sources=[f"{script.name}:{line}"], scopes=["forward"])
    assert (breakpoint_.node_count, breakpoint_.sources) == (0, (f"{script.name}:{line}",))
    job.continue_()
    stopped = server.wait_for_state("train", "paused", pause_reason="watchpoint")
    assert stopped["step"] == 1
    (hit,) = job.hits()
    assert (hit.condition, hit.source.line) == ("executed", line)
    job.continue_()
    server.wait_for_state("train", "paused", pause_reason="watchpoint", step=2)
    assert [each.step for each in job.hits()] == [1, 2]
    # The line makes two ops.
    assert job.watchpoints()[0].node_count == 2


def test_op_types_in_a_scope_regexes_and_exclude(server: Server, job: Job) -> None:
    def watch(**selection: Any) -> int:
        return job.watch("abs_max > -1", pause="none", **selection).id

    narrowed = watch(scopes=["forward/encoder"], op_types=["addmm"])
    regex = watch(regexes=["^forward/.*CODER/relu"])
    excluded = watch(patterns=["forward/*coder/**"], exclude={"op_types": ["addmm", "t"], "categories": ["weight"]})
    nodes_after_a_step(server, job)
    found: dict[int, set[str]] = {}
    for hit in job.hits():
        if hit.step == 1:
            found.setdefault(hit.watchpoint, set()).add(hit.node)
    assert found[narrowed] == {"forward/encoder/fc/addmm"}
    assert found[regex] == {"forward/encoder/relu", "forward/decoder/relu"}
    assert "forward/encoder/relu" in found[excluded]
    assert not {node for node in found[excluded] if node.endswith(("addmm", "/t", "weight"))}
    counts = {each.id: each.node_count for each in job.watchpoints()}
    assert (counts[narrowed], counts[regex]) == (1, 2)


def test_types_of_tensors(server: Server, job: Job) -> None:
    job.watch("abs_max > -1", scopes=["forward"], dtypes=["float16"], pause="none")
    nodes = nodes_after_a_step(server, job)
    assert nodes and {hit.dtype for hit in job.hits()} == {"float16"}
    assert job.watchpoints()[0].node_count == len(set(nodes))


def test_what_a_selection_would_cover(server: Server, job: Job) -> None:
    nodes_after_a_step(server, job)
    preview = job.preview_watchpoint("nan", scopes=["forward/encoder"], op_types=["addmm", "relu"])
    assert (preview.node_count, preview.tensors, preview.bytes) == (2, 2, 2 * 2 * 4 * 4)
    assert set(preview.examples) == {"forward/encoder/fc/addmm", "forward/encoder/relu"}
    executed = job.preview_watchpoint("executed", scopes=["forward/encoder"], op_types=["addmm", "relu"])
    assert 0 < executed.seconds_per_step < preview.seconds_per_step


def test_ranks(server: Server, script: Path, start_job: Any) -> None:
    for rank in range(2):
        environment = server.job_environment(
            GRAPHDBG_JOB="pair", GRAPHDBG_RANK=str(rank), GRAPHDBG_WORLD_SIZE="2", GRAPHDBG_OVERVIEW="0"
        )
        start_job([sys.executable, str(script), "20"], environment)
    wait_until("both ranks", lambda: len((server.job("pair") or {"ranks": []})["ranks"]) == 2)
    server.wait_for_state("pair", "paused", pause_reason="start")
    job = graphdbg.connect(server.addresses["http_address"], data_dir=server.data_dir).job("pair")
    job.watch("abs_max > -1", op_types=["tanh"], scopes=["forward"], ranks=[1], pause="none")
    job.watch("abs_max > -1", op_types=["tanh"], scopes=["forward"], exclude={"ranks": [1]}, pause="none")
    job.continue_()
    server.wait_for_state("pair", "finished")
    assert {(hit.watchpoint, hit.rank) for hit in job.hits()} == {(1, 1), (2, 0)}


@pytest.mark.parametrize(
    ("selection", "field", "says"),
    [
        ({"regexes": ["("]}, "regexes[0]", "missing )"),
        ({"dtypes": ["half"]}, "dtypes[0]", "float16"),
        ({"sources": [":3"]}, "sources[0]", "FILE:LINE"),
        ({"ranks": [-1]}, "ranks[0]", "integer from 0"),
        ({"exclude": {"op_types": ["x"] * 65}}, "exclude.op_types", "the limit is 64"),
    ],
)
def test_wrong_entries_are_named(job: Job, selection: Any, field: str, says: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        job.watch("nan", **selection)
    assert refused.value.field == field
    assert says in str(refused.value)
