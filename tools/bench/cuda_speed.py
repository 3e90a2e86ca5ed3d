"""Measures, on a GPU, the kernels' share of the memory bandwidth and the overhead in a
training step of a transformer. Parts that cannot run are SKIPPED with the reason.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

from graphdbg.cli.server_process import ServerProcess

WORKER = Path(__file__).parent / "cuda_worker.py"
PROBE = "import torch; assert torch.cuda.is_available(), f'PyTorch {torch.__version__} finds no GPU'"
# The exit code of cuda_kernels without a GPU.
_NO_GPU = 3

# By mode: a description, and how watchpoints on all tensors pause (None: no watchpoints).
MODES: dict[str, tuple[str, str | None]] = {
    "plain": ("the script alone", None),
    "again": ("the script alone again: the noise", None),
    "attached": ("graphdbg attached, nothing watched", None),
    "step": ("all outputs watched, pause at end of step", "step"),
    "node": ("all outputs watched, pause at op", "node"),
    "dispatch": ("torch's isnan, isinf, min, max and mean on every output", None),
    "anomaly": ("autograd.detect_anomaly", None),
}
_DEBUGGED = ("attached", "step", "node")


def kernels(program: Path) -> int:
    """Prints a table of the kernels' speed. Returns the program's exit code, or 0 if there is no GPU."""
    done = subprocess.run([program], capture_output=True, text=True)
    if done.returncode == _NO_GPU:
        print(f"SKIPPED: the kernels: {done.stderr.strip()}")
        return 0
    print(done.stderr, file=sys.stderr, end="")
    print("| dtype | MiB | read, GB/s | copy, GB/s | share |\n| --- | --- | --- | --- | --- |")
    for line in done.stdout.splitlines():
        row = json.loads(line)
        print(
            f"| {row['dtype']} | {row['bytes'] >> 20} | {row['read_gb_s']:.0f} | {row['copy_gb_s']:.0f} "
            f"| {row['share']:.2f} |"
        )
    return done.returncode


def seconds_of(mode: str, server: ServerProcess, steps: int, rounds: int) -> float:
    """The median time of a step, in seconds."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GRAPHDBG", "ENABLE_MS", "MS_DEBUGGER"))}
    if mode in _DEBUGGED:
        host, port = server.debugger_address.rsplit(":", 1)
        environment |= {"GRAPHDBG_ENABLE": "1", "GRAPHDBG_HOST": host, "GRAPHDBG_PORT": port, "GRAPHDBG_JOB": mode}
    command = [sys.executable, str(WORKER), mode]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        if mode in _DEBUGGED:
            _start_training(mode, server, process)
        assert process.stdin is not None
        _read_line(process)
        times = []
        for _ in range(rounds):
            process.stdin.write(f"{steps}\n")
            process.stdin.flush()
            times.append(float(_read_line(process)) / steps)
        process.stdin.close()
    return statistics.median(times)


def _start_training(job: str, server: ServerProcess, process: subprocess.Popen[str]) -> None:
    while not any(j["id"] == job and j["state"] == "paused" for j in server.client.get("/jobs")["jobs"]):
        if process.poll() is not None:
            raise SystemExit(f"{job}: the job ended before its first step")
        time.sleep(0.1)
    pause = MODES[job][1]
    if pause is not None:
        condition = {"id": "overflow", "params": {}}
        server.client.post(f"/jobs/{job}/watchpoints", {"condition": condition, "pause": pause})
    server.client.post(f"/jobs/{job}/control", {"command": "continue"})


def _read_line(process: subprocess.Popen[str]) -> str:
    output: IO[str] | None = process.stdout
    line = output.readline() if output is not None else ""
    if not line:
        raise SystemExit("the job has exited")
    return line


def training(steps: int, rounds: int) -> None:
    probe = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True)
    if probe.returncode != 0:
        print(f"SKIPPED: a training step: {probe.stderr.strip().splitlines()[-1]}")
        return
    print("\n| mode | time per step | ratio |\n| --- | --- | --- |")
    with tempfile.TemporaryDirectory() as directory:
        server = ServerProcess(Path(directory))
        try:
            plain = seconds_of("plain", server, steps, rounds)
            for mode, (description, _) in MODES.items():
                seconds = plain if mode == "plain" else seconds_of(mode, server, steps, rounds)
                print(f"| {description} | {1000 * seconds:.1f} ms | {seconds / plain:.3f} |", flush=True)
        finally:
            server.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, required=True, help="path of cuda_kernels")
    parser.add_argument("--steps", type=int, default=10, help="steps per round (default: %(default)s)")
    parser.add_argument(
        "--rounds", type=int, default=7, help="number of rounds; results are medians (default: %(default)s)"
    )
    arguments = parser.parse_args()
    code = kernels(arguments.program)
    training(arguments.steps, arguments.rounds)
    return 1 if code != 0 else 0


if __name__ == "__main__":
    sys.exit(main())
