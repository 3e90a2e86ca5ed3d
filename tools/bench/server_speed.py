"""Measures the speed of the server: commands and hits under load, and whole tensors.

Load: server_load simulates many ranks and pages that connect to a real server. Tensors:
a PyTorch job waits with a weight of 1 GiB, which is downloaded as a browser does it,
alternating with a bare gRPC stream of slices. Results are medians over the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from graphdbg.cli.server_process import ServerProcess

HERE = Path(__file__).parent
JOB = "large"
TENSOR = "forward/weight:0"
GIB = 1 << 30
COLUMNS = 16384
RECEIVE_BYTES = 4 << 20


def _token(server: ServerProcess) -> str:
    return (server.data_dir / "token").read_text().strip()


class Http:
    """One HTTP connection. It is minimal, so that the client does not affect the measurement."""

    def __init__(self, server: ServerProcess) -> None:
        url = urlsplit(server.url)
        assert url.hostname and url.port
        self._host = f"{url.hostname}:{url.port}"
        self._token = _token(server)
        self._socket = socket.create_connection((url.hostname, url.port))
        self._buffer = memoryview(bytearray(RECEIVE_BYTES))

    def get(self, path: str) -> int:
        """Reads the whole response. Returns the size of its body."""
        self._socket.sendall(
            f"GET /api/v1/jobs/{JOB}{path} HTTP/1.1\r\nHost: {self._host}\r\n"
            f"Authorization: Bearer {self._token}\r\nAccept: application/octet-stream\r\n\r\n".encode()
        )
        head = b""
        while b"\r\n\r\n" not in head:
            head += self._socket.recv(4096)
        head, body = head.split(b"\r\n\r\n", 1)
        lines = head.decode().lower().split("\r\n")
        if " 200 " not in lines[0] + " ":
            sys.exit(f"{path}: {lines[0]} {body.decode(errors='replace')}")
        size = int(next(line for line in lines if line.startswith("content-length:")).split(":")[1])
        left = size - len(body)
        while left > 0:
            left -= self._socket.recv_into(self._buffer)
        return size


@contextmanager
def _large_job(server: ServerProcess) -> Iterator[None]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("GRAPHDBG")}
    host, port = server.debugger_address.rsplit(":", 1)
    debugged = {"GRAPHDBG_ENABLE": "1", "GRAPHDBG_HOST": host, "GRAPHDBG_PORT": port, "GRAPHDBG_JOB": JOB}
    script = [sys.executable, str(HERE / "large_tensor.py"), str(GIB // 4 // COLUMNS), str(COLUMNS)]
    job = subprocess.Popen(script, env=clean | debugged)
    try:
        while not any(j["state"] == "paused" for j in server.client.get("/jobs")["jobs"]):
            if job.poll() is not None:
                sys.exit("the job ended before its first step")
            time.sleep(0.1)
        yield
    finally:
        job.kill()
        job.wait()


def _seconds(http: Http, path: str) -> float:
    start = time.perf_counter()
    http.get(path)
    return time.perf_counter() - start


def tensors(programs: Path, rounds: int) -> dict[str, Any]:
    """The throughput of a download and of a bare stream in GB/s, and the time of a slice."""
    name = quote(TENSOR)
    figures: dict[str, list[float]] = {"download": [], "bare": [], "ratio": [], "slice_ms": []}
    with tempfile.TemporaryDirectory() as folder:
        server = ServerProcess(Path(folder))
        with _large_job(server):
            http = Http(server)
            for _ in range(rounds):
                download = GIB / _seconds(http, f"/tensor/download?name={name}&format=npy") / 1e9
                bare = subprocess.run(
                    [str(programs / "slice_stream"), str(GIB), "1"], check=True, capture_output=True, text=True
                )
                figures["download"].append(download)
                figures["bare"].append(GIB / float(bare.stdout) / 1e9)
                figures["ratio"].append(download / figures["bare"][-1])
                where = quote("[0:1000, 0:1000]")
                figures["slice_ms"].append(1e3 * _seconds(http, f"/tensor?name={name}&slice={where}"))
        server.stop()
    return {what: statistics.median(values) for what, values in figures.items()}


def _resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def load(programs: Path, options: list[str]) -> dict[str, Any]:
    """The results of server_load, and the peak memory of the server."""
    with tempfile.TemporaryDirectory() as folder:
        server = ServerProcess(Path(folder))
        port = urlsplit(server.url).port
        where = ["--http-port", str(port), "--agents", server.debugger_address, "--token", _token(server)]
        ran = subprocess.run([str(programs / "server_load"), *where, *options], stdout=subprocess.PIPE, text=True)
        if ran.returncode != 0:
            sys.exit(ran.returncode)
        result: dict[str, Any] = json.loads(ran.stdout)
        result["server_memory_mb"] = _resident_mb(server.pid)
        server.stop()
    return result


def _print_load(result: dict[str, Any]) -> None:
    print(f"{'ms':24}{'p50':>9}{'p90':>9}{'p99':>9}{'max':>9}")
    for name, value in result.items():
        if isinstance(value, dict):
            print(f"{name:24}" + "".join(f"{value[q]:9.1f}" for q in ("p50", "p90", "p99", "max")))
    for name, value in result.items():
        if not isinstance(value, dict):
            print(f"{name:24}{value:9.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=Path, required=True, help="directory of server_load and slice_stream")
    parser.add_argument("--ranks", type=int, default=64, help="number of ranks (default: %(default)s)")
    parser.add_argument(
        "--nodes", type=int, default=20_000, help="nodes in the graph of each rank (default: %(default)s)"
    )
    parser.add_argument(
        "--readers", type=int, default=32, help="number of pages that receive all events (default: %(default)s)"
    )
    parser.add_argument(
        "--rate", type=int, default=1_000, help="statistics messages per second of each rank (default: %(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=7, help="rounds of the tensor measurement (default: %(default)s)")
    parser.add_argument("--only", choices=["load", "tensors"], help="run only this part")
    args = parser.parse_args()
    if args.only != "tensors":
        names = ("ranks", "nodes", "readers", "rate")
        _print_load(load(args.programs, [text for n in names for text in (f"--{n}", str(getattr(args, n)))]))
    if args.only != "load":
        figures = tensors(args.programs, args.rounds)
        print(f"download of 1 GiB       {figures['download']:.2f} GB/s")
        print(f"bare stream of slices   {figures['bare']:.2f} GB/s, ratio {figures['ratio']:.2f}")
        print(f"slice of 1000 x 1000    {figures['slice_ms']:.1f} ms")


if __name__ == "__main__":
    main()
