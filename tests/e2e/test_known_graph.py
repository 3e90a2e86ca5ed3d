"""Graphs that the server knows, from another rank or from before a restart, are not sent again."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from collections.abc import Iterator

import pytest
from conftest import HOSTS, Json, Server, wait_until

SCRIPT = [sys.executable, str(HOSTS / "digits_cnn.py"), "--steps", "60"]
NODE = "forward/fc2/addmm"


class Proxy:
    """Stands between ranks and the server, and counts the bytes that the ranks send."""

    def __init__(self, server: Server) -> None:
        self.sent = 0
        self._upstream = int(server.addresses["debugger_address"].rpartition(":")[2])
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                rank, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._upstream))
            except OSError:
                rank.close()
                continue
            for ends in ((rank, server), (server, rank)):
                threading.Thread(target=self._pass_on, args=(*ends, ends[0] is rank), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, counted: bool) -> None:
        try:
            while data := source.recv(1 << 16):
                self.sent += len(data) if counted else 0
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def proxies(server: Server) -> Iterator[list[Proxy]]:
    both = [Proxy(server), Proxy(server)]
    yield both
    for proxy in both:
        proxy.close()


def rank_after(server: Server, rank: int, step: int) -> Json:
    """Waits until the rank is paused after the step."""

    def reached() -> Json | None:
        job = server.job("known")
        found = [each for each in job["ranks"] if each["rank"] == rank] if job else []
        return job if found and (found[0]["state"], found[0]["step"]) == ("paused", step) else None

    job: Json = wait_until(f"rank {rank} after step {step}", reached)
    return job


def test_the_second_rank_and_a_restart_send_next_to_nothing(server: Server, proxies: list[Proxy], start_job) -> None:
    for rank, proxy in enumerate(proxies):
        environment = server.job_environment(GRAPHDBG_JOB="known", OMP_NUM_THREADS="1")
        environment |= {"GRAPHDBG_RANK": str(rank), "GRAPHDBG_WORLD_SIZE": "2", "GRAPHDBG_PORT": str(proxy.port)}
        start_job(SCRIPT, environment)
        rank_after(server, rank, 0)
        server.control("known", "step", rank=rank)
        rank_after(server, rank, 1)
    whole, second = (proxy.sent for proxy in proxies)
    assert second < whole / 3, (second, whole)
    detail = server.client.get("/jobs/known/graph/node", name=NODE)
    assert detail["inputs"] and detail["stack"]

    server.process.kill()
    server.process.wait()
    ports = {key: server.addresses[f"{key}_address"].rpartition(":")[2] for key in ("http", "debugger")}
    again = Server(server.data_dir, f"--port={ports['http']}", f"--debugger-port={ports['debugger']}")
    try:
        for rank, proxy in enumerate(proxies):
            rank_after(again, rank, 1)
            assert proxy.sent - (whole, second)[rank] < whole / 3
        assert again.client.get("/jobs/known/graph/node", name=NODE) == detail
        # Hits name nodes by ids.
        any_value = {"condition": {"id": "max_gt", "params": {"value": -1e9}}, "nodes": [NODE]}
        again.client.post("/jobs/known/watchpoints", any_value)
        again.control("known", "step")
        for rank in range(2):
            rank_after(again, rank, 2)
        hits = again.client.hits("known")
        assert {(hit["rank"], hit["step"], hit["node"]) for hit in hits} == {(rank, 2, NODE) for rank in range(2)}
    finally:
        again.stop()
