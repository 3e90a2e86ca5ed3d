"""Actions, `once`, `ignore_count` and `muted_until_step` of watchpoints in real PyTorch jobs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphdbg
import pytest
from conftest import Finished, Server, wait_until
from graphdbg.client import ApiError, InvalidRequestError, Job
from test_live_recording import started
from test_live_rules import JUMPS


@pytest.fixture
def job(server: Server, tmp_path: Path, start_job: Any) -> Job:
    return started(server, tmp_path, start_job)


def on_loss(job: Job, expression: str, **more: Any) -> Any:
    return job.watch(expression, nodes=["forward/mse_loss"], pause="none", **more)


def test_hits_that_do_not_count(server: Server, job: Job) -> None:
    wait_until("steps", lambda: job.refresh().step > 5)
    later = job.refresh().step + 50
    watchpoint = on_loss(job, f"step > {later}", once=True, ignore_count=2, group="g")
    assert (watchpoint.once, watchpoint.ignore_count, watchpoint.group) == (True, 2, "g")
    wait_until("a hit", lambda: job.refresh().hit_count)
    changed = wait_until("it is disabled", lambda: not (found := job.watchpoints()[0]).enabled and found)
    assert changed.hit_count == 1
    (hit,) = job.hits()
    assert hit.step == later + 3
    # Without these options, all hits count.
    job.change_watchpoint(watchpoint, enabled=True, ignore_count=0, once=False)
    wait_until("more hits", lambda: job.refresh().hit_count > 2)
    assert job.refresh().state == "running"


def test_actions_are_carried_out_once_per_episode(server: Server, job: Job, tmp_path: Path) -> None:
    job.record(str(tmp_path / "runs"), collections=["losses"])
    wait_until("steps are recorded", lambda: job.recording()[0].steps >= 1)
    later = job.refresh().step + 50
    more = {"record": {"collections": ["weights"], "steps": 30}}
    watchpoint = on_loss(job, f"step > {later} && step < {later + 5}", actions=["log", more, "pause"])
    assert watchpoint.actions == (
        "log",
        {"record": {"level": "tensors", "collections": ["weights"], "steps": 30}},
        "pause",
    )
    paused = server.wait_for_state("train", "paused", pause_reason="user")
    assert paused["step"] > later
    job.continue_()
    server.wait_for_state("train", "running")
    # The hits after the first one do not pause it again.
    wait_until("more steps", lambda: job.refresh().step > paused["step"] + 50)
    assert job.refresh().state == "running"
    directory = job.recording()[0].directory or ""
    (tmp_path / "end").touch()
    server.wait_for_state("train", "finished")
    saved = sorted(graphdbg.open_run(directory).tensor("forward/0/weight:0").values())
    # Everything is recorded in the 20 steps after a hit anyway.
    assert saved == list(range(saved[0], saved[-1] + 1)) and saved[0] > later
    assert later + 30 <= saved[-1] <= paused["step"] + 31


def test_invalid_and_forbidden_actions_are_refused(server: Server, job: Job) -> None:
    wait_until("steps", lambda: job.refresh().step > 1)
    for action, expected in [
        ({"webhook": "http://127.0.0.1/x"}, "configuration file"),
        ("explode", "not one of pause, stop, log, record, capture"),
    ]:
        with pytest.raises(InvalidRequestError, match=expected) as refused:
            on_loss(job, "step > 1", actions=[action])
        assert refused.value.field == "actions[0]"
    token = server.client.post("/tokens", {"name": "alice", "role": "control"})["token"]
    alice = graphdbg.connect(server.addresses["http_address"], token=token).job("train")
    with pytest.raises(ApiError) as forbidden:
        on_loss(alice, "step > 1", actions=["stop"])
    assert forbidden.value.status == 403
    on_loss(job, "step > 1", actions=["stop"])
    server.wait_for_state("train", "terminated")


def test_watchpoints_of_the_configuration_call_webhooks_and_commands(
    debug_run: Callable[..., Finished], tmp_path: Path
) -> None:
    kept = tmp_path / "kept.jsonl"
    copy = [sys.executable, "-c", f"import sys; open({str(kept)!r}, 'a').write(sys.stdin.read() + chr(10))"]
    watchpoint = {
        "condition": "expr:step == 5 || step == 6 || step == 30",
        "patterns": ["forward/mse_loss"],
        "pause": "none",
        "actions": [{"command": copy}, "log"],
    }
    (tmp_path / "job.json").write_text(json.dumps({"watchpoints": [watchpoint]}))
    (tmp_path / "train.py").write_text(JUMPS)
    command = [sys.executable, str(tmp_path / "train.py")]
    run = debug_run("--no-wait", "--config", str(tmp_path / "job.json"), command=command)
    assert (run.code, len(run.result["hits"])) == (0, 3), run.stderr
    hits = [json.loads(line) for line in kept.read_text().splitlines()]
    # Two episodes.
    assert [(hit["step"], hit["node"], hit["watchpoint"]) for hit in hits] == [
        (5, "forward/mse_loss", 1),
        (30, "forward/mse_loss", 1),
    ]


def test_a_muted_watchpoint_pauses_from_its_step_on(server: Server, job: Job) -> None:
    wait_until("steps", lambda: job.refresh().step > 5)
    begin = job.refresh().step
    until = begin + 200
    watchpoint = job.watch("step > 0", nodes=["forward/mse_loss"], muted_until_step=until)
    assert watchpoint.muted_until_step == until
    wait_until("hits", lambda: job.refresh().hit_count > 10)
    paused = server.wait_for_state("train", "paused")
    assert paused["step"] >= until
    first = next(iter(job.hits()))
    assert begin <= first.step < until
    # Unmuted, it pauses at once.
    job.change_watchpoint(watchpoint, muted_until_step=0)
    job.continue_()
    again = wait_until("the next stop", lambda: (now := job.refresh()).step > paused["step"] and now)
    assert again.step == paused["step"] + 1
    server.wait_for_state("train", "paused", pause_reason="watchpoint")
