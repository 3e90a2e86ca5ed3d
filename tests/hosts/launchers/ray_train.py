"""Trains with Ray Train, whose workers are processes that Ray's own daemon starts."""

from __future__ import annotations

import ray
import torch
from ddp_steps import Net, batch, parse
from ray import train
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer, prepare_model
from torch import nn


def train_worker(config: dict[str, int | None]) -> None:
    rank = train.get_context().get_world_rank()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = prepare_model(Net())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(1, (config["steps"] or 0) + 1):
        x, y = batch(rank, step, config["corrupt_step"])
        features = torch.sqrt(x)  # first bad value
        loss = nn.functional.cross_entropy(net(features), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}  rank {rank}  loss {loss.item():.9g}\n", end="", flush=True)


if __name__ == "__main__":
    arguments = parse()
    ray.init(num_cpus=arguments.ranks + 1, include_dashboard=False, object_store_memory=80 << 20)
    TorchTrainer(
        train_worker,
        train_loop_config={"steps": arguments.steps, "corrupt_step": arguments.corrupt_step},
        scaling_config=ScalingConfig(num_workers=arguments.ranks, use_gpu=False),
    ).fit()
    ray.shutdown()
