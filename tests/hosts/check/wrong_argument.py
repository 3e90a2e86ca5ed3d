"""Requires an argument that the command does not give."""

import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--data", required=True)
arguments = parser.parse_args()  # fails here
model = torch.nn.Linear(8, 3)
