"""Trains one workload. Reads numbers of steps from standard input, and prints the CPU time
and the wall time of these steps in seconds."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))
from peers import PEERS
from workloads import WORKLOADS


def main() -> None:
    workload, peer = sys.argv[1:]
    torch.set_num_threads(1)
    torch.manual_seed(0)
    step = WORKLOADS[workload][0]()
    if peer in PEERS:
        PEERS[peer]()
    for _ in range(5):
        step()
    print("ready", flush=True)
    for line in sys.stdin:
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(int(line)):
            step()
        print(time.process_time() - cpu, time.perf_counter() - wall, flush=True)


main()
