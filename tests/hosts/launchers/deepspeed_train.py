"""Trains with DeepSpeed's engine, started by its launcher."""

import argparse

import deepspeed
import torch
import torch.distributed as dist
from ddp_steps import Net, batch
from torch import nn

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--corrupt-step", type=int)
    arguments = parser.parse_args()
    # gloo is enough; DeepSpeed would compile collectives of its own for a minute.
    deepspeed.ops.__compatible_ops__.clear()
    deepspeed.init_distributed(dist_backend="gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    net = Net()
    engine, *_ = deepspeed.initialize(
        model=net,
        optimizer=torch.optim.SGD(net.parameters(), lr=0.1),
        config={"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 0}},
    )
    for step in range(1, arguments.steps + 1):
        x, y = batch(rank, step, arguments.corrupt_step)
        features = torch.sqrt(x)  # first bad value
        loss = nn.functional.cross_entropy(engine(features), y)
        engine.backward(loss)
        engine.step()
        print(f"step {step}  rank {rank}  loss {loss.item():.9g}\n", end="", flush=True)
    dist.destroy_process_group()
