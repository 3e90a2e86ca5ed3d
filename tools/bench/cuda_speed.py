"""On a GPU: the kernels' share of the memory's speed, and how much slower a
transformer's training step gets. What cannot run here is SKIPPED with the reason.
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
# Of cuda_kernels.
_NO_GPU = 3

# Each mode, and how watchpoints on everything pause; None: nothing is watched.
MODES: dict[str, tuple[str, str | None]] = {
    "plain": ("the script alone", None),
    "again": ("the same once more: the noise", None),
    "attached": ("graphdbg attached, nothing watched", None),
    "step": ("everything watched, pause: step", "step"),
    "node": ("everything watched, pause: node", "node"),
    "dispatch": ("torch's isnan, isinf, min, max, mean on every output", None),
    "anomaly": ("autograd.detect_anomaly", None),
}
_DEBUGGED = ("attached", "step", "node")


def kernels(program: Path) -> int:
    """Prints a table of the kernels' speed; the program's exit code, 0 if there is no GPU."""
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
    """The median time of a step."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GRAPHDBG", "ENABLE_MS", "MS_DEBUGGER"))}
    if mode in _DEBUGGED:
        host, port = server.debugger_address.rsplit(":", 1)
        environment |= {"GRAPHDBG_ENABLE": "1", "GRAPHDBG_HOST": host, "GRAPHDBG_PORT": port, "GRAPHDBG_JOB": mode}
    command = [sys.executable, str(WORKER), mode]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        if mode in _DEBUGGED:
            _let_go(mode, server, process)
        assert process.stdin is not None
        _answer(process)
        times = []
        for _ in range(rounds):
            process.stdin.write(f"{steps}\n")
            process.stdin.flush()
            times.append(float(_answer(process)) / steps)
        process.stdin.close()
    return statistics.median(times)


def _let_go(job: str, server: ServerProcess, process: subprocess.Popen[str]) -> None:
    while not any(j["id"] == job and j["state"] == "paused" for j in server.client.get("/jobs")["jobs"]):
        if process.poll() is not None:
            raise SystemExit(f"{job}: the job ended before its first step")
        time.sleep(0.1)
    pause = MODES[job][1]
    if pause is not None:
        condition = {"id": "overflow", "params": {}}
        server.client.post(f"/jobs/{job}/watchpoints", {"condition": condition, "pause": pause})
    server.client.post(f"/jobs/{job}/control", {"command": "continue"})


def _answer(process: subprocess.Popen[str]) -> str:
    output: IO[str] | None = process.stdout
    line = output.readline() if output is not None else ""
    if not line:
        raise SystemExit("the job has died")
    return line


def training(steps: int, rounds: int) -> None:
    probe = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True)
    if probe.returncode != 0:
        print(f"SKIPPED: a training step: {probe.stderr.strip().splitlines()[-1]}")
        return
    print("\n| mode | a step | ratio |\n| --- | --- | --- |")
    with tempfile.TemporaryDirectory() as directory:
        server = ServerProcess(Path(directory))
        try:
            plain = seconds_of("plain", server, steps, rounds)
            for mode, (words, _) in MODES.items():
                seconds = plain if mode == "plain" else seconds_of(mode, server, steps, rounds)
                print(f"| {words} | {1000 * seconds:.1f} ms | {seconds / plain:.3f} |", flush=True)
        finally:
            server.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, required=True, help="cuda_kernels, as built")
    parser.add_argument("--steps", type=int, default=10, help="steps of a round (%(default)s)")
    parser.add_argument("--rounds", type=int, default=7, help="rounds, of which the median counts (%(default)s)")
    arguments = parser.parse_args()
    code = kernels(arguments.program)
    training(arguments.steps, arguments.rounds)
    return 1 if code != 0 else 0


if __name__ == "__main__":
    sys.exit(main())
