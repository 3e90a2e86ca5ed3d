"""A training that is attached to while it runs. Once the file BAD exists, its inputs are bad.

usage: attached_training.py BAD [END]    prints "ready" before its first step, and trains until the file END exists
"""

import sys
import time
from itertools import count
from pathlib import Path

import torch

bad = Path(sys.argv[1])
end = Path(sys.argv[2]) if len(sys.argv) > 2 else None
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters())
print("ready", flush=True)
for step in count():
    if end is not None and end.exists():
        break
    x = torch.randn(32, 16)
    if bad.exists():
        x = torch.log(x)  # first bad value
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item().hex()}", flush=True)
    time.sleep(0.01)
