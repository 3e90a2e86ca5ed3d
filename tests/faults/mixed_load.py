"""Keeps one server busy for a long time, and shows that its memory stays constant and that it answers.

500 scripted jobs report statistics and hits, lose their connection and come back; three
pages follow all jobs and open one after the other; a real PyTorch job has a weight of
64 MiB downloaded every few seconds; hostile peers attack both ports. Meanwhile
`GET /jobs` is measured ten times a second. The programs have to be built:

    bazel build //tools/bench:many_jobs
    python tests/faults/mixed_load.py --minutes 60

Prints a line a minute, and one JSON object at the end. Exits with 1 if the server or a
part of the load ended early, or if memory at the end exceeds that after the first third
by more than a tenth.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import hostile
from graphdbg.cli.client import ApiError
from graphdbg.cli.errors import CliError
from graphdbg.cli.server_process import ServerProcess

ROOT = Path(__file__).resolve().parents[2]
MANY_JOBS = ROOT / "bazel-bin/tools/bench/many_jobs"
LARGE_JOB = ROOT / "tools/bench/large_tensor.py"
ROWS, COLUMNS = 4096, 4096
# How much memory may grow between the first third and the end.
GROWTH = 1.1
ATTACKERS = 4


def resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


def quantile(values: list[float], q: float) -> float:
    return sorted(values)[int(q * (len(values) - 1))]


def repeatedly(action: object, stop: threading.Event, pause: float, count: list[int]) -> threading.Thread:
    def run() -> None:
        while not stop.wait(pause):
            action()  # type: ignore[operator]
            count[0] += 1

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


@contextlib.contextmanager
def attacked(server: ServerProcess, count: list[int]) -> Iterator[None]:
    http = urlsplit(server.url)
    assert http.hostname and http.port
    host, port = server.debugger_address.rsplit(":", 1)
    victim = hostile.Victim((http.hostname, http.port), (host, int(port)))
    stop = threading.Event()

    def attack() -> None:
        victim.random.choice(hostile.ATTACKS)(victim)

    threads = [repeatedly(attack, stop, 0.1, count) for _ in range(ATTACKERS)]
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@contextlib.contextmanager
def downloads(server: ServerProcess, count: list[int]) -> Iterator[None]:
    """A PyTorch job that waits before its first step, and downloads of its weight."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("GRAPHDBG")}
    host, port = server.debugger_address.rsplit(":", 1)
    debugged = {"GRAPHDBG_ENABLE": "1", "GRAPHDBG_HOST": host, "GRAPHDBG_PORT": port, "GRAPHDBG_JOB": "large"}
    job = subprocess.Popen([sys.executable, str(LARGE_JOB), str(ROWS), str(COLUMNS)], env=clean | debugged)
    stop = threading.Event()

    def download() -> None:
        with contextlib.suppress(ApiError, CliError):
            path = f"/jobs/large/tensor/statistics?name={quote('forward/weight:0')}"
            server.client.get(path)
            server.client.get(f"/jobs/large/tensor?name={quote('forward/weight:0')}&slice={quote('[0:100,0:100]')}")

    thread = repeatedly(download, stop, 2, count)
    try:
        yield
    finally:
        stop.set()
        thread.join()
        job.kill()
        job.wait()


class Watch:
    """Measures the server's answers and memory until it is stopped."""

    def __init__(self, server: ServerProcess) -> None:
        self._server = server
        self.milliseconds: list[float] = []
        self.megabytes: list[float] = []

    def for_a_minute(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        first = len(self.milliseconds)
        while time.monotonic() < end:
            start = time.perf_counter()
            jobs = self._server.client.get("/jobs")["jobs"]
            self.milliseconds.append(1e3 * (time.perf_counter() - start))
            time.sleep(0.1)
        self.megabytes.append(resident_mb(self._server.pid))
        now = self.milliseconds[first:]
        print(
            f"{len(self.megabytes):3} min: {len(jobs)} jobs, {self.megabytes[-1]:6.0f} MB, GET /jobs "
            f"{statistics.median(now):.1f} ms p50, {quantile(now, 0.99):.1f} ms p99, {max(now):.1f} ms at most",
            flush=True,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=int, default=60, help="duration (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=500, help="number of scripted jobs (default: %(default)s)")
    options = parser.parse_args()
    if not MANY_JOBS.exists():
        parser.error(f"{MANY_JOBS} is missing: bazel build //tools/bench:many_jobs")
    attacks, tensors = [0], [0]
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as stack:
        server = ServerProcess(Path(directory))
        stack.callback(server.stop)
        command = [str(MANY_JOBS), "--http-port", str(urlsplit(server.url).port), "--agents", server.debugger_address]
        command += ["--token", (server.data_dir / "token").read_text().strip(), "--jobs", str(options.jobs)]
        load = subprocess.Popen([*command, "--seconds", str(options.minutes * 60)], stdout=subprocess.PIPE, text=True)
        stack.callback(load.kill)
        stack.enter_context(downloads(server, tensors))
        stack.enter_context(attacked(server, attacks))
        watch = Watch(server)
        for _ in range(options.minutes):
            watch.for_a_minute(60)
            if load.poll() not in (None, 0) or not server.alive():
                print("the load or the server has ended", file=sys.stderr)
                return 1
        done = json.loads(load.communicate(timeout=600)[0])
    first, last = watch.megabytes[len(watch.megabytes) // 3], watch.megabytes[-1]
    result = {
        **done,
        "attacks": attacks[0],
        "tensors": tensors[0],
        "answers": len(watch.milliseconds),
        "jobs_ms_p50": round(statistics.median(watch.milliseconds), 1),
        "jobs_ms_p99": round(quantile(watch.milliseconds, 0.99), 1),
        "jobs_ms_max": round(max(watch.milliseconds), 1),
        "memory_mb_after_a_third": round(first),
        "memory_mb_at_the_end": round(last),
    }
    print(json.dumps(result))
    return 0 if last <= GROWTH * first else 1


if __name__ == "__main__":
    sys.exit(main())
