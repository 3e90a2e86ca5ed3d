"""Trains one workload. Prints the CPU time and the wall time of the first ten steps in seconds.
Then reads numbers of steps from standard input, and prints the same for these steps.
With "ops" instead of the name of a peer, prints the number of ops of a step."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch.utils._python_dispatch import TorchDispatchMode

sys.path.insert(0, str(Path(__file__).parent))
from peers import PEERS
from workloads import WORKLOADS

FIRST_STEPS = 10


def main() -> None:
    workload, peer = sys.argv[1:]
    torch.set_num_threads(1)
    torch.manual_seed(0)
    step = WORKLOADS[workload][0]()
    if peer == "ops":
        print(ops_of(step))
        return
    if peer in PEERS:
        PEERS[peer]()
    measure(step, FIRST_STEPS)
    for line in sys.stdin:
        measure(step, int(line))


def ops_of(step: Callable[[], object]) -> int:
    """The number of ops of a step after the first one, which makes the optimizer's state."""
    step()
    with Counter() as counter:
        step()
    return counter.ops


class Counter(TorchDispatchMode):
    ops = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        self.ops += 1
        return function(*args, **(kwargs or {}))


def measure(step: Callable[[], object], steps: int) -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(steps):
        step()
    print(time.process_time() - cpu, time.perf_counter() - wall, flush=True)


main()
