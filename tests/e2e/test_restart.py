"""A server that is killed and restarted while real jobs keep running."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import GRAPHDBG, HOSTS, Json, Server, clean_environment, losses, wait_until
from graphdbg.cli.client import ApiError

DIGITS = [sys.executable, str(HOSTS / "digits_cnn.py"), "--steps", "60"]


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts servers, one after the other, with the same ports and data directory."""
    started: list[Server] = []

    def start(*options: str) -> Server:
        if started:
            for option, address in (("port", "http_address"), ("debugger-port", "debugger_address")):
                options += (f"--{option}={started[0].addresses[address].rpartition(':')[2]}",)
        started.append(Server(tmp_path / "data", *options))
        return started[-1]

    yield start
    for server in started:
        server.stop()


def kill(server: Server) -> None:
    server.process.kill()
    server.process.wait()


def watchpoints_of(server: Server, job: str) -> list[Json]:
    found: list[Json] = server.client.get(f"/jobs/{job}/watchpoints")["watchpoints"]
    return found


def delete(server: Server, path: str) -> None:
    server.client._call("DELETE", path, None)


def test_a_paused_job_is_as_before_when_the_server_is_back(servers, start_job) -> None:
    first = servers()
    job = start_job(DIGITS, first.job_environment(GRAPHDBG_JOB="digits"))
    first.wait_for_state("digits", "paused")
    client = first.client
    on_logits = {"condition": {"id": "max_gt", "params": {"value": 3}}, "patterns": ["forward/fc2/addmm"]}
    made = client.post("/jobs/digits/watchpoints", on_logits | {"pause": "node"})
    deleted = client.post("/jobs/digits/watchpoints", {"condition": {"id": "nan", "params": {}}})
    delete(first, f"/jobs/digits/watchpoints/{deleted['id']}")
    first.control("digits", "continue")
    before = first.wait_for_state("digits", "paused", pause_reason="watchpoint")
    hits = first.client.hits("digits")
    watchpoints = watchpoints_of(first, "digits")
    nodes = client.get("/jobs/digits/graph/search", q="fc2", limit=500)["nodes"]
    detail = client.get("/jobs/digits/graph/node", name="forward/fc2/addmm")
    assert hits and watchpoints[0]["id"] == made["id"] and detail["stack"]
    # Statistics that were requested and do not come from a hit.
    client.get("/jobs/digits/tensor/statistics", name="forward/fc2/weight:0")
    history = client.get("/jobs/digits/tensor/history", name="forward/fc2/weight:0")
    assert len(history["points"]) == 1

    kill(first)
    second = servers()
    after = second.wait_for_state("digits", "paused")
    for same in ("pause_reason", "step", "node", "stopped_by", "hit_count", "created_at", "name", "framework"):
        assert after[same] == before[same], same
    assert second.client.hits("digits") == hits
    assert watchpoints_of(second, "digits") == watchpoints
    assert second.client.get("/jobs/digits/graph/search", q="fc2", limit=500)["nodes"] == nodes
    assert second.client.get("/jobs/digits/graph/node", name="forward/fc2/addmm") == detail
    assert second.client.get("/jobs/digits/tensor/history", name="forward/fc2/weight:0") == history
    logits = second.client.get("/jobs/digits/tensor", name="forward/fc2/addmm:0", statistics=1)
    assert logits["statistics"]["max"] == pytest.approx(hits[-1]["statistics"]["max"])

    # The job is under control as before, and ids are not reused.
    second.control("digits", "continue")
    wait_until("a new hit", lambda: len(second.client.hits("digits")) > len(hits))
    assert [hit["id"] for hit in second.client.hits("digits")] == list(range(1, len(hits) + 2))
    second.wait_for_state("digits", "paused", pause_reason="watchpoint")
    anew = second.client.post("/jobs/digits/watchpoints", on_logits | {"pause": "none"})
    assert anew["id"] == deleted["id"] + 1
    delete(second, f"/jobs/digits/watchpoints/{made['id']}")
    second.control("digits", "continue")
    out, _ = job.communicate(timeout=120)
    assert job.returncode == 0 and len(losses(out)) == 60


def test_a_finished_job_stays_until_it_is_deleted(servers, start_job) -> None:
    first = servers()
    watch = {"condition": {"id": "max_gt", "params": {"value": 1}}, "patterns": ["forward/fc2/addmm"], "pause": "none"}
    job = start_job([*DIGITS[:-1], "5"], first.job_environment(GRAPHDBG_JOB="digits"))
    first.wait_for_state("digits", "paused")
    first.client.post("/jobs/digits/watchpoints", watch)
    first.control("digits", "continue")
    assert job.wait(timeout=60) == 0
    before = first.wait_for_state("digits", "finished")
    top = first.client.get("/jobs/digits/graph/scope")
    hits = first.client.hits("digits")
    assert hits
    history = first.client.get("/jobs/digits/tensor/history", name="forward/fc2/addmm:0")
    # The node was watched in all steps, so there are points for steps without hits, too.
    assert [point["step"] for point in history["points"]] == [1, 2, 3, 4, 5]
    assert {hit["step"] for hit in hits} < {1, 2, 3, 4, 5}

    kill(first)
    second = servers()
    assert second.job("digits") == before
    assert second.client.get("/jobs/digits/tensor/history", name="forward/fc2/addmm:0") == history
    assert second.client.get("/jobs/digits/graph/scope") == top
    assert second.client.hits("digits") == hits
    delete(second, "/jobs/digits")

    kill(second)
    third = servers()
    assert third.client.get("/jobs")["jobs"] == []


@pytest.mark.long
def test_a_job_whose_process_died_too_is_lost(servers, start_job) -> None:
    first = servers()
    job = start_job(DIGITS, first.job_environment(GRAPHDBG_JOB="digits"))
    first.wait_for_state("digits", "paused")
    first.control("digits", "step", steps=3)
    first.wait_for_state("digits", "paused", step=3)
    kill(first)
    job.kill()
    second = servers()
    found = second.job("digits")
    assert found and found["state"] == "connecting" and found["step"] == 3
    # The next run is a new job, which proves that the lost process does not return.
    start_job(DIGITS, second.job_environment(GRAPHDBG_JOB="digits"))
    second.wait_for_state("digits-2", "paused")
    second.wait_for_state("digits", "lost")
    with pytest.raises(ApiError) as error:
        second.control("digits", "continue")
    assert error.value.code == "invalid_state"


# Trains until the file exists whose name is the argument.
STEADY = """
import pathlib, sys, time, torch
net = torch.nn.Sequential(torch.nn.Linear(4, 4))
optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
while not pathlib.Path(sys.argv[1]).exists():
    optimizer.zero_grad()
    net(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    time.sleep(0.005)
"""


def hits_beyond(server: Server, count: int) -> list[Json]:
    """Waits until there are more than `count` hits, and returns all of them."""

    def more() -> list[Json] | None:
        found = server.client.hits("steady")
        return found if len(found) > count else None

    hits: list[Json] = wait_until(f"more than {count} hits", more)
    return hits


def test_no_hit_is_lost_or_doubled_by_kills_at_any_moment(servers, start_job, tmp_path: Path) -> None:
    """Every step has a hit, and the server is killed while hits arrive."""
    server = servers()
    stop = tmp_path / "stop"
    script = tmp_path / "steady.py"
    script.write_text(STEADY)
    job = start_job([sys.executable, str(script), str(stop)], server.job_environment(GRAPHDBG_JOB="steady"))
    server.wait_for_state("steady", "paused")
    always = {
        "condition": {"id": "max_gt", "params": {"value": -1e9}},
        "patterns": ["forward/0/addmm"],
        "pause": "none",
    }
    server.client.post("/jobs/steady/watchpoints", always)
    server.control("steady", "continue")
    count = 0
    for _ in range(4):
        seen = hits_beyond(server, count + 20)
        kill(server)
        server = servers()
        assert server.client.hits("steady")[: len(seen)] == seen
        count = len(seen)
    hits_beyond(server, count + 20)
    stop.touch()
    assert job.wait(timeout=120) == 0
    server.wait_for_state("steady", "finished")
    hits = server.client.hits("steady")
    assert [hit["id"] for hit in hits] == list(range(1, len(hits) + 1))
    assert [hit["step"] for hit in hits] == list(range(hits[0]["step"], hits[0]["step"] + len(hits)))


def test_a_second_server_on_the_same_data_is_refused(servers) -> None:
    first = servers()
    second = subprocess.run(
        [GRAPHDBG, "start", "--port=0", "--debugger-port=0", f"--data-dir={first.data_dir}"],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert second.returncode == 3
    assert str(first.data_dir) in second.stderr and "server" in second.stderr
    assert len(second.stderr.strip().splitlines()) == 1
    assert first.client.get("/jobs")["jobs"] == []
