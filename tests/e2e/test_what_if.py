"""Ops are repeated in the paused process, in other ways, which changes nothing there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphdbg
import pytest
from conftest import GRAPHDBG, HOSTS, Server, clean_environment, wait_until
from graphdbg.client import ConflictError, NotFoundError
from graphdbg.client.jobs import Job

SCRIPT = HOSTS / "underflow.py"
LOG = "forward/log"


@pytest.fixture
def start(server: Server, start_job: Any, tmp_path: Path) -> Callable[..., Job]:
    """Starts the job, which waits before its first step."""

    def run(**environment: str) -> Job:
        command = [sys.executable, str(SCRIPT), str(tmp_path / "losses")]
        start_job(command, server.job_environment(GRAPHDBG_JOB="train", **environment))
        server.wait_for_state("train", "paused")
        return graphdbg.connect(server.addresses["http_address"], data_dir=server.data_dir).job("train")

    return run


def undebugged(tmp_path: Path) -> str:
    losses = tmp_path / "undebugged"
    subprocess.run([sys.executable, str(SCRIPT), str(losses)], env=clean_environment(), check=True, timeout=300)
    return losses.read_text()


def test_experiments_at_a_hit_name_its_cause_and_change_nothing(start: Callable[..., Job], tmp_path: Path) -> None:
    job = start()
    job.watch("inf", patterns=[LOG])
    job.continue_()
    assert job.wait_for_stop().state == "paused"
    (hit,) = job.hits()
    found = job.what_if(hit)
    fails = {each.experiment: each.fails for each in found.outcomes}
    assert fails == {
        **dict.fromkeys(("as_it_was", "float64", "finite_inputs", "deterministic"), True),
        "upstream_float64": False,
    }
    assert "softmax that underflowed" in found.conclusion
    assert (found.node, found.step, found.rank) == (LOG, 3, 0)
    by_id = {each.experiment: each for each in found.outcomes}
    assert by_id["as_it_was"].same_bits and by_id["as_it_was"].bad_count == hit.statistics.neg_inf_count
    # Also of an op without a hit.
    other = job.what_if("forward/_softmax", "float64")
    assert [each.fails for each in other.outcomes] == [False]
    job.continue_()
    wait_until("the job ends", lambda: job.refresh().state == "finished")
    assert (tmp_path / "losses").read_text() == undebugged(tmp_path)


def test_the_step_is_repeated_from_its_tape(start: Callable[..., Job], tmp_path: Path) -> None:
    settings = tmp_path / "job.yaml"
    settings.write_text("capture: {tape: whole_step}\n")
    job = start(GRAPHDBG_CONFIG=str(settings))
    job.watch("inf", patterns=[LOG])
    job.continue_()
    job.wait_for_stop()
    (hit,) = job.hits()
    found = job.replay_step(hit)
    assert found.level == "step"
    assert [each.same_bits for each in found.outcomes] == [True]
    assert "fails again, with the same bits" in found.conclusion
    job.continue_()
    wait_until("the job ends", lambda: job.refresh().state == "finished")
    assert (tmp_path / "losses").read_text() == undebugged(tmp_path)


def test_what_cannot_be_repeated_is_refused(start: Callable[..., Job], server: Server) -> None:
    job = start()
    job.step()
    job.wait_for_stop()
    with pytest.raises(ConflictError, match="there is no experiment 'float65'"):
        job.what_if(LOG, "float65")
    with pytest.raises(NotFoundError):
        job.what_if("forward/nothing")
    with pytest.raises(NotFoundError, match="no hit 7"):
        job.what_if(7)
    job.continue_()
    wait_until("the job ends", lambda: job.refresh().state == "finished")


def test_the_terminal_says_the_same(server: Server, tmp_path: Path) -> None:
    lines = tmp_path / "lines.dbg"
    lines.write_text(f"break {LOG} if inf\ncontinue\nwhatif float64\nwhatif\nreplay\ncontinue\n")
    done = subprocess.run(
        [GRAPHDBG, "dbg", "--batch", "-x", str(lines), "--", sys.executable, str(SCRIPT), str(tmp_path / "losses")],
        env=clean_environment(HOME=str(tmp_path)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the op and upstream in float64           does not fail" in done.stdout
    assert "it fails again, with the same bits" in done.stdout
