"""Measures the overhead of graphdbg in sessions of ONNX Runtime.

Each model and mode has its own process, and all processes run at the same time. They run
their sessions in turn, in an order that is shuffled in every round. A ratio divides the
CPU time by that of the plain run in the same round. Results are medians over the rounds.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from graphdbg.cli.client import ApiError
from graphdbg.cli.server_process import ServerProcess

WORKER = Path(__file__).parent / "onnx_worker.py"
MODES = {
    "plain": "the program alone",
    "again": "the program alone again: the noise",
    "attached": "graphdbg attached, nothing watched",
    "one": "one node watched for NaN and infinity",
    "nan_inf": "all outputs watched for NaN and infinity",
    "marked": "without graphdbg, every node's output is an output of the model",
}
DEBUGGED = ("attached", "one", "nan_inf")
MODELS = ("cnn", "transformer")


class Worker:
    def __init__(self, folder: Path, model: str, mode: str, optimized: bool, server: ServerProcess) -> None:
        self._job = f"{model}-{mode}-{'optimized' if optimized else 'plain'}"
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("GRAPHDBG", "ENABLE_MS", "MS_DEBUGGER"))}
        if mode in DEBUGGED:
            host, port = server.debugger_address.rsplit(":", 1)
            clean |= {"GRAPHDBG_ENABLE": "1", "GRAPHDBG_HOST": host, "GRAPHDBG_PORT": port, "GRAPHDBG_JOB": self._job}
            clean |= {"GRAPHDBG_TOKEN_FILE": str(server.data_dir / "agent_token")}
        self._process = subprocess.Popen(
            [sys.executable, str(WORKER), str(folder / f"{model}.onnx"), mode, str(int(optimized))],
            env=clean,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if mode in DEBUGGED:
            self._start_runs(server, mode)
        self._read_line()

    def _start_runs(self, server: ServerProcess, mode: str) -> None:
        path = f"/jobs/{self._job}"
        while not self._is_paused(server):
            time.sleep(0.1)
        if mode != "attached":
            watchpoint = {"condition": {"id": "overflow", "params": {}}, "pause": "none"}
            one = {"patterns": ["**/relu_1", "**/layers.1/Add", "**/layers/1/Add"]} if mode == "one" else {}
            server.client.post(f"{path}/watchpoints", watchpoint | one)
        server.client.post(f"{path}/control", {"command": "continue"})

    def _is_paused(self, server: ServerProcess) -> bool:
        try:
            return bool(server.client.get(f"/jobs/{self._job}")["state"] == "paused")
        except ApiError:
            if self._process.poll() is not None:
                raise SystemExit(f"{self._job}: the job ended before its first run") from None
            return False

    def _read_line(self) -> str:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self._job}: the job ended")
        return line

    def cpu_seconds(self, runs: int) -> float:
        assert self._process.stdin
        self._process.stdin.write(f"{runs}\n")
        self._process.stdin.flush()
        return float(self._read_line())

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


def measure(folder: Path, model: str, optimized: bool, rounds: int, runs: int, server: ServerProcess) -> None:
    workers = {mode: Worker(folder, model, mode, optimized, server) for mode in MODES}
    ratios: dict[str, list[float]] = {mode: [] for mode in MODES}
    plain: list[float] = []
    for _ in range(rounds):
        order = random.sample(list(workers), len(workers))
        took = {mode: workers[mode].cpu_seconds(runs) for mode in order}
        plain.append(took["plain"] / runs)
        for mode in MODES:
            ratios[mode].append(took[mode] / took["plain"])
    for worker in workers.values():
        worker.stop()
    print(f"{model}, optimizations {'on' if optimized else 'off'}: {1e3 * statistics.median(plain):.2f} ms per run")
    for mode, meaning in MODES.items():
        print(f"  {statistics.median(ratios[mode]):6.2f}  {meaning}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15, help="number of rounds (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=10, help="runs of a session per round (default: %(default)s)")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        subprocess.run([sys.executable, "-W", "ignore", str(WORKER), "--export", directory], check=True)
        server = ServerProcess(folder)
        try:
            for model in arguments.models:
                for optimized in (False, True):
                    measure(folder, model, optimized, arguments.rounds, arguments.runs, server)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
