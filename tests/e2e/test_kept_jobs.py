"""Jobs of `graphdbg run` that have ended are kept."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from conftest import GRAPHDBG, clean_environment
from graphdbg.cli import kept_jobs
from graphdbg.cli.client import Client

SCRIPT = """
import torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(1, 4):
    (model(torch.ones(2, 4)) / (step != 2)).sum().backward()
    optimizer.step()
"""


@pytest.fixture
def environment(tmp_path):
    return clean_environment(XDG_STATE_HOME=str(tmp_path / "state"), XDG_DATA_HOME=str(tmp_path / "data"))


def graphdbg(environment, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([GRAPHDBG, *arguments], env=environment, capture_output=True, text=True, timeout=180)


@pytest.fixture
def debug(tmp_path, environment):
    """Runs a job with hits to its end."""
    script = tmp_path / "planted.py"
    script.write_text(SCRIPT)

    def debug(**extra: str) -> None:
        options = ["--no-wait", "--break-on", "inf", "--on-hit", "continue"]
        done = graphdbg(environment | extra, "run", *options, "--", sys.executable, str(script))
        assert done.returncode == 0, done.stderr

    return debug


def kept_in(environment) -> list[dict]:
    return json.loads(graphdbg(environment, "jobs", "--all", "--json").stdout)["kept"]


def test_a_job_that_has_ended_is_listed_and_shown_again(debug, environment, tmp_path):
    debug()
    (job,) = kept_in(environment)
    assert (job["job"], job["status"], job["steps"]) == ("planted", "finished", 3)
    assert job["hit_count"] > 0
    listed = graphdbg(environment, "jobs", "--all")
    assert job["id"] in listed.stdout

    result = json.loads(graphdbg(environment, "open", "planted", "--result").stdout)
    assert result == json.loads(Path(job["result"]).read_text())
    assert len(result["hits"]) == job["hit_count"]

    # The page, the graph and the hits come from a server on the directory.
    shown = subprocess.Popen(
        [GRAPHDBG, "open", job["id"], "--json"],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert shown.stdout
        addresses = json.loads(shown.stdout.readline())
        client = Client.from_data_dir(addresses["http_address"], Path(job["directory"]))
        assert client.get("/jobs/planted")["state"] == "finished"
        assert [hit | {"job": "planted"} for hit in client.hits("planted")] == result["hits"]
        assert client.get("/jobs/planted/graph/node", name="forward/addmm")["kind"] == "op"
        assert re.search(r"#/jobs/planted\?code=", addresses["url"])
    finally:
        shown.send_signal(signal.SIGINT)
        assert shown.wait(30) == 0
        shown.stdout.close()


def test_no_credentials_are_kept(debug, environment, tmp_path):
    debug()
    (job,) = kept_in(environment)
    directory = Path(job["directory"])
    assert not {"token", "agent_token", "credentials.json", "server.json", "agent.sock"} & {
        file.name for file in directory.iterdir()
    }
    assert directory.stat().st_mode & 0o077 == 0


def test_keeping_can_be_turned_off(debug, environment, tmp_path):
    debug(GRAPHDBG_KEEP_JOBS="0")
    assert kept_in(environment) == []


def test_an_unknown_job_is_an_error(environment):
    done = graphdbg(environment, "open", "nobody")
    assert done.returncode == 3
    assert "nobody" in done.stderr and "graphdbg jobs --all" in done.stderr


def make_job(root: Path, name: str, ended: datetime, size: int = 0) -> None:
    directory = root / name
    directory.mkdir(parents=True)
    summary = {"job": "old", "status": "finished", "steps": 1, "hit_count": 0, "ended_at": ended.isoformat()}
    (directory / "kept.json").write_text(json.dumps(summary))
    with open(directory / "graphdbg.db", "wb") as file:
        os.truncate(file.fileno(), size)


def test_old_and_too_many_jobs_are_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    root = kept_jobs.kept_jobs_dir()
    now = datetime.now(timezone.utc)
    make_job(root, "old", now - timedelta(days=7, minutes=1))
    for number in range(kept_jobs.MAX_JOBS + 2):
        make_job(root, f"job-{number}", now - timedelta(minutes=number))
    kept_jobs.prune()
    assert [job.id for job in kept_jobs.kept_jobs()] == [f"job-{number}" for number in range(kept_jobs.MAX_JOBS)]


def test_too_large_jobs_are_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    root = kept_jobs.kept_jobs_dir()
    now = datetime.now(timezone.utc)
    for number in range(4):
        # Sparse files.
        make_job(root, f"job-{number}", now - timedelta(minutes=number), size=kept_jobs.MAX_BYTES * 2 // 5)
    kept_jobs.prune()
    assert [job.id for job in kept_jobs.kept_jobs()] == ["job-0", "job-1"]
