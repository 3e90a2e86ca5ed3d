"""Trains without torch.distributed in two processes that have LOCAL_RANK, NODE_RANK and WORLD_SIZE only."""

import os
import subprocess
import sys

import torch

if __name__ == "__main__":
    if "LOCAL_RANK" not in os.environ:
        ranks = [
            subprocess.Popen(
                [sys.executable, *sys.argv],
                env=os.environ | {"LOCAL_RANK": str(rank), "NODE_RANK": "0", "WORLD_SIZE": "2"},
            )
            for rank in range(2)
        ]
        sys.exit(max(rank.wait() for rank in ranks))
    net = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(3):
        bad = step == 1 and os.environ["LOCAL_RANK"] == "1"
        loss = torch.sqrt(net(torch.ones(2, 4)).square() - (1e6 if bad else 0)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
