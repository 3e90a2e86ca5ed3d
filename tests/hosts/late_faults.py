"""A training that is sound for 200 steps, and faulty from then on. Argument: the fault."""

import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

ONSET = 200

fault = sys.argv[1]
torch.manual_seed(1)
inputs = torch.randn(64, 8)
labels = (inputs.sum(1) > 0).long()
loader = DataLoader(TensorDataset(inputs, labels), batch_size=16, shuffle=fault != "same_batch")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.norm = nn.BatchNorm1d(16)
        self.drop = nn.Dropout(0.1)
        self.last = nn.Linear(16, 2)

    def forward(self, x):
        x = self.drop(F.relu(self.norm(self.first(x))))
        return self.last(self.more(x) if hasattr(self, "more") else x)


def batches():
    while True:
        yield from loader


def evaluate():
    if fault != "train_evaluation" or step < ONSET:
        model.eval()
    with torch.no_grad():
        for x, _ in loader:
            model(x)
    if fault != "eval_mode" or step < ONSET:
        model.train()


def begin():
    """Makes the training faulty from now on."""
    if fault in ("zero_rate", "tiny_rate"):
        optimizer.param_groups[0]["lr"] = 0.0 if fault == "zero_rate" else 1e-12
    if fault == "replaced":
        model.last = nn.Linear(16, 2)
    if fault == "added":
        model.more = nn.Linear(16, 16)


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
stream = batches()
for step in range(1, ONSET + 7):
    faulty = step >= ONSET
    if step == ONSET:
        begin()
    if step % 50 == 0:
        evaluate()
    x, y = next(iter(loader) if fault == "same_batch" and faulty else stream)
    if fault != "no_zero_grad" or not faulty:
        optimizer.zero_grad(set_to_none=step % 2 == 0)
    loss = F.cross_entropy(model(x), y)
    if fault == "detached" and faulty:
        loss = loss.detach().requires_grad_()
    loss.backward()
    optimizer.step()
print("done")
