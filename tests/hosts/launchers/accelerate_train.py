"""Trains with accelerate, started by `accelerate launch`."""

import torch
from accelerate import Accelerator
from ddp_steps import Net, batch, parse
from torch import nn

if __name__ == "__main__":
    arguments = parse()
    accelerator = Accelerator(cpu=True)
    rank = accelerator.process_index
    torch.manual_seed(0)
    net = Net()
    net, optimizer = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for step in range(1, arguments.steps + 1):
        x, y = batch(rank, step, arguments.corrupt_step)
        features = torch.sqrt(x)  # first bad value
        loss = nn.functional.cross_entropy(net(features), y)
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
        print(f"step {step}  rank {rank}  loss {loss.item():.9g}\n", end="", flush=True)
    accelerator.end_training()
