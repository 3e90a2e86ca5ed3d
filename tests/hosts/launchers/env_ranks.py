"""Trains as one rank of a launcher that sets RANK and WORLD_SIZE, such as torchrun."""

import os

from ddp_steps import parse, train

if __name__ == "__main__":
    train(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), "env://", parse())
