"""Several ranks of one job, started by torchrun, stop and step together."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest
from conftest import GRAPHDBG, HOSTS, Json, Server, clean_environment, losses, marked_line, wait_until
from graphdbg.cli.client import ApiError

RANKS = 4
SCRIPT = HOSTS / "digits_ddp.py"
# In seconds. A collective that takes longer fails.
TIMEOUT = 20


def torchrun(*options: str) -> list[str]:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={RANKS}"]
    return [*launcher, str(SCRIPT), f"--timeout={TIMEOUT}", *options]


@pytest.fixture
def start_ranks(start_job) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts torchrun. When torchrun is terminated, it terminates its ranks, too."""
    started: list[subprocess.Popen[str]] = []

    def start(command: list[str], environment: dict[str, str]) -> subprocess.Popen[str]:
        started.append(start_job(command, environment))
        return started[-1]

    yield start
    for process in started:
        process.terminate()
        process.communicate(timeout=60)


@pytest.fixture
def environment(server: Server) -> dict[str, str]:
    return server.job_environment(GRAPHDBG_JOB="ddp", OMP_NUM_THREADS="1")


def paused(server: Server, **fields: object) -> Json:
    """Waits until all ranks are paused at the end of the same step, and returns the job."""

    def all_ranks() -> Json | None:
        job = server.job("ddp")
        together = job and job["state"] == "paused" and [rank["step"] for rank in job["ranks"]] == [job["step"]] * RANKS
        return job if together and all(job[key] == value for key, value in fields.items()) else None

    job: Json = wait_until(f"all ranks paused together {fields}", all_ranks)
    return job


def test_ranks_stop_step_and_end_together(server, start_ranks, environment) -> None:
    process = start_ranks(torchrun("--steps=100000"), environment)
    assert paused(server)["pause_reason"] == "start"
    assert server.job("ddp")["world_size"] == RANKS
    server.control("ddp", "step", steps=3)
    paused(server, step=3, pause_reason="step")

    for _ in range(3):
        server.control("ddp", "continue")
        before = server.job("ddp")["step"]
        wait_until("some steps", lambda before=before: server.job("ddp")["step"] > before + 5)
        server.control("ddp", "pause")
        assert paused(server)["pause_reason"] == "user"

    # No rank waits in a collective meanwhile, which would fail.
    time.sleep(TIMEOUT + 1)
    step = server.job("ddp")["step"]
    server.control("ddp", "step", steps=2)
    paused(server, step=step + 2)

    server.control("ddp", "continue")
    wait_until("some steps", lambda: server.job("ddp")["step"] > step + 10)
    server.control("ddp", "terminate")
    job = server.wait_for_state("ddp", "terminated")
    assert {rank["state"] for rank in job["ranks"]} == {"terminated"}
    assert len({rank["step"] for rank in job["ranks"]}) == 1
    errors = process.communicate(timeout=60)[1]
    assert process.returncode != 0
    assert "Connection closed by peer" not in errors


@pytest.mark.long
def test_a_nan_on_one_rank_stops_all_of_them(server, start_ranks, environment) -> None:
    process = start_ranks(torchrun("--steps=8", "--corrupt-rank=2", "--corrupt-step=5"), environment)
    paused(server)
    nan = {"condition": {"id": "nan", "params": {}}, "patterns": ["forward/sqrt*"], "pause": "node"}
    server.client.post("/jobs/ddp/watchpoints", nan)
    server.client.post("/jobs/ddp/watchpoints", nan | {"patterns": ["optimizer/**"], "pause": "none"})
    server.control("ddp", "continue")
    job = paused(server, pause_reason="watchpoint", step=5)
    assert job["hit_count"] > 0
    hits = server.client.hits("ddp")
    assert {hit["rank"] for hit in hits if hit["watchpoint"] == 1} == {2}
    assert {hit["step"] for hit in hits} == {5}
    assert hits[0]["source"]["line"] == marked_line(SCRIPT)
    assert job["node"] == hits[0]["node"]

    # It has come to the other ranks through the average of the gradients.
    assert {hit["rank"] for hit in hits} == set(range(RANKS))
    for hit in hits:
        sender = hit["sent_by"]
        if hit["rank"] == 2:
            assert sender is None
            continue
        assert (sender["rank"], sender["node"], sender["slot"]) == (2, "forward/sqrt", 0)
        assert sender["collective"] == "backward/0/allreduce_"
        assert sender["source"]["line"] == marked_line(SCRIPT)

    # The tensor of the hit is available, and so is the same tensor of another rank.
    counts = {}
    for rank in (1, 2):
        name = f"{hits[0]['node']}:{hits[0]['slot']}"
        tensor = server.client.get("/jobs/ddp/tensor", name=name, rank=rank, statistics=1)
        counts[rank] = tensor["statistics"]["nan_count"]
    assert counts == {1: 0, 2: 1}

    for watchpoint in server.client.get("/jobs/ddp/watchpoints")["watchpoints"]:
        server.client._call("DELETE", f"/jobs/ddp/watchpoints/{watchpoint['id']}", None)
    server.control("ddp", "continue")
    server.wait_for_state("ddp", "finished", step=8)
    # Another server knows the senders, too.
    known = [hit["sent_by"] for hit in server.client.hits("ddp")]
    server.stop()
    again = Server(server.data_dir)
    try:
        assert [hit["sent_by"] for hit in again.client.hits("ddp")] == known
    finally:
        again.stop()
    assert process.wait(timeout=60) == 0


@pytest.mark.long
def test_a_step_that_one_rank_has_begun_ends_for_all(server, start_ranks, environment) -> None:
    """The other ranks are still in the previous step when one of them finds a NaN."""
    start_ranks(torchrun("--steps=8", "--corrupt-rank=2", "--corrupt-step=3", "--lag=0.5"), environment)
    paused(server)
    nan = {"condition": {"id": "nan", "params": {}}, "patterns": ["forward/sqrt*"], "pause": "node"}
    server.client.post("/jobs/ddp/watchpoints", nan)
    server.control("ddp", "continue")
    assert paused(server, pause_reason="watchpoint", step=3)["node"] == "forward/sqrt"


@pytest.mark.long
def test_one_rank_is_moved_alone_only_by_its_name(server, start_ranks, environment) -> None:
    process = start_ranks(torchrun("--steps=3"), environment)
    paused(server)
    for command in ({"command": "next_node"}, {"command": "continue_to", "node": "optimizer/add_"}):
        with pytest.raises(ApiError) as refused:
            server.client.post("/jobs/ddp/control", command)
        assert (refused.value.status, refused.value.code) == (409, "several_ranks")
        assert server.job("ddp")["unsupported_commands"][command["command"]]
    ctl = [GRAPHDBG, "ctl", "ddp", "next", "--rank=1", f"--data-dir={server.data_dir}"]
    ctl.append(f"--server={server.addresses['http_address']}")
    subprocess.run(ctl, check=True, env=clean_environment())

    def moved() -> bool:
        ranks = {rank["rank"]: rank for rank in server.job("ddp")["ranks"]}
        return ranks[1]["state"] == "paused" and ranks[1]["node"] and not ranks[0]["node"]

    wait_until("rank 1 at its first node", moved)
    server.control("ddp", "next_node", rank=1, outside="forward")
    wait_until("rank 1 in its backward pass", lambda: server.job("ddp")["ranks"][1]["node"].startswith("backward/"))
    # A step of one rank waits for the others, which end it one by one.
    server.control("ddp", "step", rank=1)
    wait_until("rank 1 has begun its step", lambda: server.job("ddp")["ranks"][1]["state"] == "running")
    assert {rank["state"] for rank in server.job("ddp")["ranks"] if rank["rank"] != 1} == {"paused"}
    for rank in (0, 2, 3):
        server.control("ddp", "step", rank=rank)
    paused(server, step=1)
    server.control("ddp", "continue")
    server.wait_for_state("ddp", "finished", step=3)
    assert process.wait(timeout=60) == 0


@pytest.mark.long
def test_losses_are_the_same_to_the_bit(server, start_ranks, environment) -> None:
    plain = start_ranks(torchrun("--steps=6"), clean_environment(OMP_NUM_THREADS="1"))
    expected = sorted(losses(plain.communicate(timeout=120)[0]))
    assert len(expected) == 6 * RANKS
    process = start_ranks(torchrun("--steps=6"), environment | {"GRAPHDBG_WAIT": "0"})
    assert sorted(losses(process.communicate(timeout=120)[0])) == expected
    server.wait_for_state("ddp", "finished", step=6)
