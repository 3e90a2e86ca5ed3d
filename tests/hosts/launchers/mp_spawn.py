"""Trains in processes that torch.multiprocessing.spawn starts."""

import argparse
import tempfile

import torch.multiprocessing
from ddp_steps import parse, train


def work(rank: int, store: str, arguments: argparse.Namespace) -> None:
    train(rank, arguments.ranks, f"file://{store}", arguments)


if __name__ == "__main__":
    arguments = parse()
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(work, (f"{folder}/store", arguments), nprocs=arguments.ranks)
