"""Trainings that run without an error and do not learn. Argument: the fault."""

import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

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
        self.unused = nn.Linear(16, 16)
        self.scale = nn.Parameter(torch.ones(16))
        self.last = nn.Linear(16, 1 if fault in ("broadcast", "one_class", "mse_broadcast") else 2)

    def forward(self, x):
        x = self.norm(F.relu(self.first(x)))
        if fault == "detached_part":
            x = x.detach()
        if fault == "dead":
            x = F.relu(x - 1e6)
        if fault != "forgotten_layer":
            x = self.unused(x)
        x = self.drop(x) * (self.scale.data if fault == "data_used" else self.scale)
        if fault == "constant":
            x = x * 0 + self.scale
        return self.last(x)


model = Net()
trained = [p for n, p in model.named_parameters() if not (fault == "not_given" and n.startswith("unused"))]
learning_rate = {"zero_rate": 0.0, "tiny_rate": 1e-12}.get(fault, 0.05)
if fault == "bf16":
    model.bfloat16()
    learning_rate = 1e-6
optimizer = torch.optim.SGD(model.parameters() if fault != "not_given" else trained, lr=learning_rate)
if fault == "negative_rate":
    optimizer.param_groups[0]["lr"] = -0.1
if fault == "stale":
    model.last = nn.Linear(16, 2)
if fault == "eval_mode":
    model.eval()


def loss_of(x, y):
    if fault == "bf16":
        x = x.bfloat16()
    if fault == "autocast":
        with torch.autocast("cuda"):
            out = model(x)
    else:
        out = model(x)
    if fault == "broadcast":
        return ((out - y.float()) ** 2).mean()
    if fault == "mse_broadcast":
        return F.mse_loss(out, y.float())
    if fault == "one_class":
        return F.nll_loss(torch.log_softmax(out, 1), torch.zeros_like(y))
    loss = F.cross_entropy(out.float(), y)
    if fault == "detached":
        loss = loss.detach().requires_grad_()
    return loss


batches = iter(loader)
for step in range(12):
    if fault in ("same_batch",):
        x, y = next(iter(loader))
    else:
        try:
            x, y = next(batches)
        except StopIteration:
            batches = iter(loader)
            x, y = next(batches)
    if fault != "no_zero_grad":
        optimizer.zero_grad()
    loss_of(x, y).backward()
    optimizer.step()
    if fault == "train_evaluation" and step % 4 == 3:
        with torch.no_grad():
            for x, _ in loader:
                model(x)
print("done")
