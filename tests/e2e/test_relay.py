"""Ranks of a job on two hosts, each behind a relay of its own."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from conftest import GRAPHDBG, HOSTS, Json, Server, clean_environment, wait_until

SCRIPT = HOSTS / "digits_ddp.py"
RANKS = 4


class Relay:
    def __init__(self, upstream: str, port: int = 0) -> None:
        command = [str(GRAPHDBG), "relay", f"--upstream={upstream}", f"--debugger-port={port}", "--json"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean_environment())
        assert self.process.stdout
        self.port = int(json.loads(self.process.stdout.readline())["debugger_address"].rpartition(":")[2])

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(timeout=30)


@pytest.fixture
def start_relay(server: Server) -> Iterator[Callable[..., Relay]]:
    started: list[Relay] = []

    def start(port: int = 0) -> Relay:
        started.append(Relay(server.addresses["debugger_address"], port))
        return started[-1]

    yield start
    for relay in started:
        relay.stop()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def torchrun(host: int, meeting: int) -> list[str]:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", f"--node-rank={host}"]
    launcher += ["--nproc-per-node=2", "--master-addr=127.0.0.1", f"--master-port={meeting}"]
    return [*launcher, str(SCRIPT), "--timeout=120", "--steps=100000"]


def test_ranks_of_two_hosts_behind_relays(server, start_relay, start_job) -> None:
    relays = [start_relay(), start_relay()]
    meeting = free_port()
    hosts = []
    for host, relay in enumerate(relays):
        environment = server.job_environment(GRAPHDBG_JOB="ddp", OMP_NUM_THREADS="1", GRAPHDBG_LAUNCH="two-hosts")
        environment["GRAPHDBG_PORT"] = str(relay.port)
        hosts.append(start_job(torchrun(host, meeting), environment))

    def ranks_at(state: str) -> Json | None:
        job = server.job("ddp")
        return job if job and [rank["state"] for rank in job["ranks"]] == [state] * RANKS else None

    wait_until("all ranks wait", lambda: ranks_at("paused"))
    server.control("ddp", "step", steps=2)
    wait_until("all ranks after two steps", lambda: (job := ranks_at("paused")) and job["step"] == 2)
    server.control("ddp", "continue")
    wait_until("some steps", lambda: (job := server.job("ddp")) and job["step"] > 10)

    # Its host is lost; the ranks train on, and are there again when the relay is back.
    assert relays[1].stop() == 0
    wait_until("two ranks lost", lambda: [r["state"] for r in server.job("ddp")["ranks"]].count("lost") == 2)
    start_relay(relays[1].port)
    wait_until("all ranks run again", lambda: ranks_at("running"))

    server.control("ddp", "terminate")
    server.wait_for_state("ddp", "terminated")
    for host in hosts:
        host.communicate(timeout=120)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), "--upstream"),
        (("--upstream=debug.example",), "is not HOST:PORT"),
        (("--upstream=debug.example:50051",), "needs --upstream-tls-ca"),
        (("--upstream=127.0.0.1:1", "--host=0.0.0.0"), "--tls-cert and --tls-key"),
        (("--upstream=127.0.0.1:1", "--upstream-tls-ca=/nowhere.pem"), "cannot read /nowhere.pem"),
    ],
)
def test_wrong_options_are_named(options: tuple[str, ...], expected: str) -> None:
    done = subprocess.run([str(GRAPHDBG), "relay", *options], capture_output=True, text=True, env=clean_environment())
    assert done.returncode == 2
    assert expected in done.stderr


def test_a_port_in_use_is_named(server) -> None:
    port = server.addresses["debugger_address"].rpartition(":")[2]
    command = [str(GRAPHDBG), "relay", "--upstream=127.0.0.1:1", f"--debugger-port={port}"]
    done = subprocess.run(command, capture_output=True, text=True, env=clean_environment())
    assert done.returncode == 3
    assert port in done.stderr
