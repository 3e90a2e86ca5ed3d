"""`next_node` that passes over nodes, as `next` and `finish` of a debugger do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator

import graphdbg
import pytest
from conftest import GRAPHDBG, HOSTS, Server, clean_environment, marked_line
from graphdbg.client import InvalidRequestError, Job, JobInfo, NotFoundError

pytest.importorskip("websockets")

SCRIPT = HOSTS / "nested_modules.py"
SECONDS = 60


@pytest.fixture
def job(server: Server, start_job: Callable[..., subprocess.Popen[str]]) -> Iterator[Job]:
    """A job that waits before its first step."""
    start_job([sys.executable, str(SCRIPT)], server.job_environment(GRAPHDBG_JOB="nested"))
    with graphdbg.connect(server.addresses["http_address"], data_dir=server.data_dir) as client:
        job = client.job("nested", timeout=SECONDS)
        job.wait_for_stop(SECONDS)
        yield job


def run_to(job: Job, node: str) -> JobInfo:
    job.run_to(node, pending=True)
    stop = job.wait_for_stop(SECONDS)
    assert stop.node == node
    return stop


def next_node(job: Job, **passed: object) -> JobInfo:
    job.next_node(**passed)  # type: ignore[arg-type]
    return job.wait_for_stop(SECONDS)


def test_next_passes_over_modules_and_finish_leaves_one(job: Job) -> None:
    # In the first step no node but those that have executed is known.
    run_to(job, "forward/add")
    assert next_node(job, within="forward").node == "forward/exp"
    stop = run_to(job, "forward/block/relu")
    assert stop.step == 2
    assert next_node(job, outside="forward/block").node == "forward/exp"
    # A module is left for the one around it.
    run_to(job, "forward/block/first/addmm")
    assert next_node(job, outside="forward/block/first").node == "forward/block/relu"


def test_the_way_through_the_step_may_change(job: Job) -> None:
    line = marked_line(SCRIPT, "# five ops")
    after = []
    for _ in range(3):
        run_to(job, "forward/block/relu")
        assert job.graph().node("forward/block/relu").source.line == line
        after.append(next_node(job, other_line=True).node.rpartition("/")[0])
    assert after == ["forward/block", "forward/block/second", "forward/block"]
    # The line of a library's layer is one to stop at, though the layer has a scope of its own.
    after = []
    for _ in range(2):
        run_to(job, "forward/block/relu")
        after.append(next_node(job, within="forward/block", other_line=True).node.rpartition("/")[0])
    assert sorted(after) == ["forward/block", "forward/block/second"]
    # So is that of a module of the user's, which then is passed over, whichever lines it has.
    run_to(job, "forward/add")
    assert next_node(job, within="forward", other_line=True).node.startswith("forward/block/first/")
    assert next_node(job, within="forward", other_line=True).node == "forward/exp"
    stop = next_node(job, within="forward", other_line=True)
    assert stop.node.startswith("forward/head/")


def test_backward_nodes_have_scopes_and_lines_too(job: Job) -> None:
    run_to(job, "forward/exp")
    entered = next_node(job, outside="forward")
    assert entered.node.startswith("backward/")
    while not job.node.startswith("backward/block/"):
        next_node(job)
    left = next_node(job, outside="backward/block")
    assert left.step == 1
    assert left.node and not left.node.startswith("backward/block/")


def test_the_job_stops_at_the_end_of_the_step_if_no_node_is_left(job: Job) -> None:
    run_to(job, "forward/exp")
    while not job.node.startswith("optimizer/"):
        next_node(job, outside=job.node.partition("/")[0])
    stop = next_node(job, outside="optimizer")
    assert (stop.step, stop.node, stop.pause_reason) == (1, "", "step")
    # Between steps, the next step counts.
    stop = next_node(job, within="forward/block")
    assert (stop.step, stop.node) == (2, "forward/randn")


def test_what_cannot_be_passed_over_is_refused(job: Job) -> None:
    run_to(job, "forward/add")
    with pytest.raises(NotFoundError) as unknown:
        job.next_node(outside="forward/blck")
    assert (unknown.value.code, unknown.value.field) == ("unknown_scope", "outside")
    with pytest.raises(InvalidRequestError) as both:
        job.next_node(within="forward", outside="forward")
    assert both.value.field == "outside"


def test_the_command_line_passes_over_nodes(server: Server, job: Job) -> None:
    run_to(job, "forward/block/relu")
    ctl = [GRAPHDBG, "ctl", "nested", "next", "--within=forward", "--other-line", f"--data-dir={server.data_dir}"]
    subprocess.run(ctl, check=True, env=clean_environment())
    server.wait_for_state("nested", "paused", node="forward/exp")
    wrong = [GRAPHDBG, "ctl", "nested", "step", "--other-line"]
    refused = subprocess.run(wrong, env=clean_environment(), capture_output=True, text=True)
    assert refused.returncode == 2
    assert "--other-line is only valid with next" in refused.stderr
