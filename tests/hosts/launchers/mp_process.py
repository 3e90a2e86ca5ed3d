"""Trains in processes of multiprocessing; the parent only waits for them."""

import argparse
import multiprocessing
import sys
import tempfile

from ddp_steps import parse, train


def work(rank: int, store: str, arguments: argparse.Namespace) -> None:
    train(rank, arguments.ranks, f"file://{store}", arguments)


if __name__ == "__main__":
    arguments = parse()
    context = multiprocessing.get_context(arguments.method)
    with tempfile.TemporaryDirectory() as folder:
        workers = [
            context.Process(target=work, args=(rank, f"{folder}/store", arguments)) for rank in range(arguments.ranks)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    sys.exit(max(worker.exitcode for worker in workers))
