"""Trains a transformer on a GPU in bf16. Reads numbers of steps from standard input, and
prints the time of these steps in seconds."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parent))
from peers import PEERS

# Large enough to fill a data-centre GPU.
BATCH, LENGTH, WIDTH, HEADS, LAYERS = 16, 1024, 2048, 16, 8


def main() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True, norm_first=True)
    model = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    inputs = torch.randn(BATCH, LENGTH, WIDTH, device="cuda")

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(inputs).float().square().mean()
        loss.backward()
        optimizer.step()

    if sys.argv[1] in PEERS:
        PEERS[sys.argv[1]]()
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    print("ready", flush=True)
    for line in sys.stdin:
        begin = time.perf_counter()
        for _ in range(int(line)):
            step()
        torch.cuda.synchronize()
        print(time.perf_counter() - begin, flush=True)


main()
