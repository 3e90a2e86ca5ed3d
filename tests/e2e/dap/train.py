"""A small training for the tests of the debug adapter. Comments name the lines that tests stop at.

Usage: train.py [STEPS [BAD_STEP [LAST_STEP]]]; the loss of BAD_STEP is infinite, and LAST_STEP raises an exception.
"""

import sys

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        hidden = self.fc(x)  # line: fc
        # A line without ops.
        return torch.relu(hidden)  # line: relu


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)  # line: block
        return self.head(x)  # line: head


def main(steps=5, bad_step=0, last_step=0):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(1, steps + 1):
        inputs, labels = torch.randn(16, 8), torch.randint(3, (16,))
        outputs = model(inputs)  # line: model
        loss = nn.functional.cross_entropy(outputs, labels) / float(step != bad_step)  # line: loss
        if step == last_step:
            raise RuntimeError("the data ends here")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.6g}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
