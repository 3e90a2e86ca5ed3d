"""The rules of `graphdbg start --config` in real PyTorch jobs that connect to it."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import graphdbg
import pytest
from conftest import GRAPHDBG, Server, clean_environment, wait_until
from graphdbg.client import Job
from test_live_recording import started

# Finds one thing at its third observation, and another in every hundredth step.
MY_RULES = """
import graphdbg

class Third(graphdbg.Rule):
    id, title = "third", "It is the third observation"
    select = graphdbg.Select(collections=["losses"])

    def start(self, key):
        return 0

    def observe(self, seen, now):
        return seen + 1, self.finding("the third", seen=seen) if seen == 2 else None

class Hundredth(graphdbg.Rule):
    id, title = "hundredth", "It is a hundredth step"
    select = graphdbg.Select(collections=["losses"])

    def observe(self, state, now):
        return state, self.finding(f"step {now.step}") if now.step % 100 == 0 else None
"""
LOSS = {"collections": ["losses"]}


class Started:
    """A server with rules, as it is started again and again on one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.calls = directory / "calls"
        append = f"import sys; open({str(self.calls)!r}, 'a').write(sys.stdin.read() + '\\n')"
        rules = [
            {"rule": "third", "actions": [{"command": ["python3", "-c", append]}]},
            {"rule": "hundredth"},
            {
                "name": "fiftieth",
                "select": LOSS,
                "when": "step == 50",
                "actions": [{"command": ["python3", "-c", append]}],
            },
        ]
        (directory / "my_rules.py").write_text(MY_RULES)
        (directory / "rules.json").write_text(json.dumps({"rules": rules, "record": {"overhead": 0}}))
        (directory / "runs").mkdir()

    def server(self, *options: str) -> Server:
        config = ["--config", str(self._directory / "rules.json"), "--rules-from", str(self._directory / "my_rules.py")]
        return Server(self._directory / "data", f"--runs={self._directory / 'runs'}", *config, *options)

    def called(self) -> list[str]:
        """The rules for which their command was called."""
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        return [json.loads(line)["rule"] for line in lines]


@pytest.fixture
def servers(tmp_path: Path) -> Started:
    return Started(tmp_path)


@pytest.fixture
def server(servers: Started) -> Iterator[Server]:
    server = servers.server()
    yield server
    server.stop()


def found(job: Job, rule: str) -> list[int]:
    return [each.step for each in job.findings() if each.rule == rule]


def test_rules_of_the_server_are_evaluated_in_its_jobs(
    servers: Started, server: Server, tmp_path: Path, start_job: Any
) -> None:
    job = started(server, tmp_path, start_job, GRAPHDBG_RECORD=str(tmp_path / "runs"))
    wait_until(
        "findings of all rules", lambda: found(job, "third") and found(job, "hundredth") and found(job, "fiftieth")
    )
    wait_until("commands", lambda: sorted(servers.called()) == ["fiftieth", "third"])
    (tmp_path / "end").touch()
    server.wait_for_state("train", "finished")
    wait_until("all is evaluated", lambda: [each.state for each in job.rules()] == ["done"] * 3)
    run = graphdbg.open_run(tmp_path / "runs" / "train")
    losses = [step for step in run.steps() if step % 100 == 0]
    # One each hundred steps: the rule reports the first of an episode, which ends after ten steps without any.
    assert found(job, "hundredth") == losses
    assert len(found(job, "third")) == 1 and found(job, "fiftieth") == [50]


def test_a_job_that_is_recorded_later_has_the_rules(server: Server, tmp_path: Path, start_job: Any) -> None:
    job = started(server, tmp_path, start_job)
    wait_until("steps", lambda: job.refresh().step > 60)
    assert job.rules() == []
    job.record(str(tmp_path / "runs"))
    wait_until("a finding", lambda: found(job, "third"))


def test_a_server_that_is_started_again_repeats_nothing(servers: Started, tmp_path: Path, start_job: Any) -> None:
    first = servers.server()
    job = started(first, tmp_path, start_job, GRAPHDBG_RECORD=str(tmp_path / "runs"))
    wait_until("findings", lambda: found(job, "third") and found(job, "hundredth") and found(job, "fiftieth"))
    wait_until("commands", lambda: sorted(servers.called()) == ["fiftieth", "third"])
    first.process.kill()
    first.process.communicate()
    ports = [
        f"--{option}={first.addresses[name].rpartition(':')[2]}"
        for option, name in (("port", "http_address"), ("debugger-port", "debugger_address"))
    ]
    # The server ends with the process that was killed.
    wait_until("the first server ends", lambda: not _is_locked(tmp_path / "data"))
    second = servers.server(*ports)
    try:
        second.wait_for_state("train", "running")
        job = graphdbg.connect(second.addresses["http_address"], data_dir=second.data_dir).job("train")
        before = len(found(job, "hundredth"))
        wait_until("rules in Python go on", lambda: len(found(job, "hundredth")) >= before + 2)
        (tmp_path / "end").touch()
        second.wait_for_state("train", "finished")
        wait_until("all is evaluated", lambda: [each.state for each in job.rules()] == ["done"] * 3)
        steps = found(job, "hundredth")
        assert len(steps) == len(set(steps))
        assert len(found(job, "third")) == len(found(job, "fiftieth")) == 1
        assert sorted(servers.called()) == ["fiftieth", "third"]
    finally:
        second.stop()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_server_ends_with_the_command(servers: Started, number: int) -> None:
    server = servers.server()
    server.process.send_signal(number)
    server.process.communicate(timeout=20)
    assert server.process.returncode == 0
    assert not _is_locked(server.data_dir)


def _is_locked(data_dir: Path) -> bool:
    """Whether a server runs on the directory."""
    return graphdbg.client.servers.server_of(data_dir) is not None


def test_rules_need_a_directory_of_runs(tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text(json.dumps({"rules": [{"rule": "exploding_tensor"}]}))
    command = [GRAPHDBG, "start", f"--data-dir={tmp_path / 'data'}", "--config", str(tmp_path / "rules.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=clean_environment())
    assert done.returncode == 2 and "--runs DIR names the directory" in done.stderr
