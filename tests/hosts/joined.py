"""Trains a small model. Texts run in it at chosen moments, as a debugger outside of the process would have them run.

joined.py [--steps N] [--stop FILE] [--at STEP:MOMENT:FILE] [--signal FILE] [--nan STEP] [--ranks]

It ends after N steps, or as soon as the file exists. At a moment of a step, the text in a file runs between the next
two instructions of the main thread; with --signal, at each SIGUSR1. From the step of --nan on, inputs are negative, of
which the loss takes the logarithm.
"""

import argparse
import ctypes
import gc
import importlib
import signal
import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

KEPT = []


def run_text(file):
    """Has the text run as the injector does."""
    text = ctypes.create_string_buffer(Path(file).read_bytes())
    KEPT.append(text)
    run = ctypes.cast(ctypes.pythonapi.PyRun_SimpleString, ctypes.c_void_p)
    assert ctypes.pythonapi.Py_AddPendingCall(run, text) == 0


class Moments:
    def __init__(self, chosen):
        self.step = 0
        self._chosen = [(int(step), moment, file) for step, moment, file in (each.split(":", 2) for each in chosen)]

    def reach(self, moment):
        for step, chosen, file in self._chosen:
            if step == self.step and chosen == moment:
                self._chosen.remove((step, chosen, file))
                run_text(file)
                # Instructions, between which it runs.
                return [each for each in range(3)]
        return None


class Samples(Dataset):
    def __init__(self, moments):
        self._moments = moments

    def __len__(self):
        return 64

    def __getitem__(self, index):
        self._moments.reach("loader")
        generator = torch.Generator().manual_seed(index)
        return torch.rand(16, generator=generator), torch.rand(1, generator=generator)


class Block(nn.Module):
    def __init__(self, moments):
        super().__init__()
        self.linear = nn.Linear(16, 16)
        self.norm = nn.LayerNorm(16)
        self._moments = moments

    def forward(self, x):
        x = torch.relu(self.linear(x))
        self._moments.reach("forward")
        return self.norm(x)


class Scaled(torch.autograd.Function):
    moments = None

    @staticmethod
    def forward(context, x):
        return x * 2

    @staticmethod
    def backward(context, gradient):
        Scaled.moments.reach("backward")
        return gradient * 2


class Net(nn.Module):
    def __init__(self, moments):
        super().__init__()
        self.blocks = nn.Sequential(Block(moments), Block(moments))
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        return Scaled.apply(self.head(self.blocks(x)))


class Descent(torch.optim.SGD):
    moments = None

    def step(self, closure=None):
        Descent.moments.reach("optimizer")
        return super().step(closure)


class Collected:
    moments = None

    def __del__(self):
        Collected.moments.reach("gc")


def garbage():
    each = Collected()
    each.self = each


def batches(moments):
    while True:
        yield from DataLoader(Samples(moments), batch_size=8)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--stop", type=Path)
    parser.add_argument("--at", action="append", default=[])
    parser.add_argument("--signal")
    parser.add_argument("--nan", type=int)
    parser.add_argument("--ranks", action="store_true")
    parser.add_argument("--inference", action="store_true")
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()

    torch.manual_seed(0)
    torch.set_num_threads(1)
    moments = Moments(arguments.at)
    Scaled.moments = Descent.moments = Collected.moments = moments
    if arguments.signal:
        signal.signal(signal.SIGUSR1, lambda *_: exec(Path(arguments.signal).read_text(), {}))
    model = Net(moments)
    if arguments.ranks:
        torch.distributed.init_process_group("gloo")
        model = nn.parallel.DistributedDataParallel(model)
    if arguments.compile:
        model = torch.compile(model, backend="aot_eager")
    optimizer = None if arguments.inference else Descent(model.parameters(), lr=0.01, momentum=0.9)
    print("ready", flush=True)
    loader = batches(moments)
    while moments.step < arguments.steps and not (arguments.stop and arguments.stop.exists()):
        moments.step += 1
        x, y = next(loader)
        if arguments.nan and moments.step >= arguments.nan:
            x = x - 2
        if arguments.inference:
            with torch.no_grad():
                loss = (model(x) - y).square().mean()
        else:
            optimizer.zero_grad()
            loss = (model(x) - y).square().mean() + x.log().mean() * 0  # loss
            loss.backward()
            moments.reach("between")
            optimizer.step()
        if moments.step % 10 == 0:
            garbage()
            gc.collect()
        if arguments.ranks and moments.step % 5 == 0:
            moments.reach("collective")
            torch.distributed.all_reduce(torch.ones(1))
        if moments.step == 20:
            # Reaches the moment "import".
            sys.path.insert(0, str(Path(__file__).parent))
            sys.modules["joined_moments"] = moments
            importlib.import_module("joined_import")
            sys.path.pop(0)
        print(f"step {moments.step} loss {loss.item().hex()}", flush=True)
        time.sleep(0.002)


main()
