"""Trains with two workers of Ray Train."""

import argparse
import os

import ray
import torch
from ddp_steps import Net, batch, parse
from ray.train import RunConfig, ScalingConfig, get_context
from ray.train.torch import TorchTrainer, prepare_model
from torch import nn


def work(config: dict[str, int]) -> None:
    rank = get_context().get_world_rank()
    torch.manual_seed(0)
    net = prepare_model(Net())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(1, config["steps"] + 1):
        x, y = batch(rank, step, config["corrupt_step"])
        features = torch.sqrt(x)  # first bad value
        loss = nn.functional.cross_entropy(net(features), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}  rank {rank}  loss {loss.item():.9g}\n", end="", flush=True)


def main(arguments: argparse.Namespace) -> None:
    ray.init(num_cpus=3, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": os.environ["PYTHONPATH"]}})
    TorchTrainer(
        work,
        train_loop_config={"steps": arguments.steps, "corrupt_step": arguments.corrupt_step},
        scaling_config=ScalingConfig(num_workers=2, use_gpu=False),
        run_config=RunConfig(storage_path=os.environ["RAY_STORAGE"]),
    ).fit()


if __name__ == "__main__":
    main(parse())
