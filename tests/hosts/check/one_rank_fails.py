"""Two ranks under torchrun, one of which has labels that are out of range."""

import torch
import torch.distributed as dist
from torch import nn

torch.manual_seed(0)
dist.init_process_group("gloo")
model = nn.parallel.DistributedDataParallel(nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    labels = torch.tensor([0, 1, 2, 2 + dist.get_rank()])
    loss = nn.functional.cross_entropy(model(torch.randn(4, 8)), labels)  # fails here
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
