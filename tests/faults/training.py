"""The job of the fault matrix: deterministic training that prints each loss.

When the file --fork-when appears, a second thread forks children, which end at once.
"""

import argparse
import os
import threading
import time
from pathlib import Path

import torch


def fork_storm(trigger: Path, children: int) -> None:
    while not trigger.exists():
        time.sleep(0.01)
    for _ in range(children):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    trigger.with_suffix(".done").touch()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--pause", type=float, default=0.01, help="seconds between steps")
    parser.add_argument("--fork-when", type=Path)
    parser.add_argument("--children", type=int, default=40)
    arguments = parser.parse_args()
    if arguments.fork_when:
        threading.Thread(target=fork_storm, args=(arguments.fork_when, arguments.children), daemon=True).start()

    torch.manual_seed(11)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x, y = torch.randn(16, 256), torch.randn(16, 1)
    for step in range(1, arguments.steps + 1):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item()!r}", flush=True)
        time.sleep(arguments.pause)


if __name__ == "__main__":
    main()
