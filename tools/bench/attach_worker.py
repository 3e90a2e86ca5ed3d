"""A training that knows nothing of graphdbg: `attach_worker.py FILE`, until it is killed.

After each step, it appends to the file when the step ended (of the clock that all processes share), the CPU time of
the process and of its main thread until then, and the loss, as four numbers of 8 bytes.

It has had a second thread, as trainings with loaders or several threads of PyTorch have: the C library counts
references without atomic operations until then, which makes backward passes of small ops 1 to 2 % faster.
"""

from __future__ import annotations

import struct
import sys
import threading
import time

import torch

loader = threading.Thread(target=len, args=("",))
loader.start()
loader.join()
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(*[torch.nn.Linear(128, 128) for _ in range(8)], torch.nn.Linear(128, 1))
optimizer = torch.optim.AdamW(model.parameters())
with open(sys.argv[1], "wb") as file:
    while True:
        x = torch.randn(64, 128)
        loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        file.write(struct.pack("<4d", time.monotonic(), time.process_time(), time.thread_time(), loss.item()))
        file.flush()
