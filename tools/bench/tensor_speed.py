"""How fast values are saved, beside the disk itself and other ways to save them.

All ways write the same values to the same disk, in turn and in an order that is shuffled in every round, and wait
until they are on the disk. Times are those of a whole process or call, with the end of the recording. The disk's
are those of the same program, which writes as many bytes of its memory to one file, and `copy` is the least that
keeping copies can take: they are made with their checksums, and written directly.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch

# Bytes and number of the tensors of a step, and the number of steps.
SHAPES = {"64 x 4 MiB": (4 << 20, 64, 2), "3,000 x 4 KiB": (4 << 10, 3000, 44)}
# The fast ways save so many times as many steps, so that the start of a process does not count.
_LONGER = 4


@dataclass
class Rates:
    """GB/s, and CPU seconds of all threads for each GB, of each round."""

    speed: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


class Clock:
    """Measures the time and the CPU time of what is done within it, also in processes that end meanwhile."""

    def __enter__(self) -> Clock:
        self._begin = time.perf_counter(), _cpu_seconds()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._begin[0]
        self.cpu = _cpu_seconds() - self._begin[1]


def rates(program: Path, place: Path, size: int, count: int, steps: int, rounds: int) -> dict[str, Rates]:
    """Saves `count` tensors of `size` bytes in each step, in a directory that is left empty."""
    values = {f"layer{number}": torch.randn(size // 4) for number in range(count)}
    long = _LONGER * steps
    ways: dict[str, tuple[int, Callable[[Path], None]]] = {
        "disk": (long, lambda target: _record(program, target, f"write {long} {count} {size}")),
        "copy": (long, lambda target: _record(program, target, f"copy {long} {count} {size}")),
        "recording": (long, lambda target: _record(program, target, f"save {long} {count} {size}")),
        "torch.save": (steps, lambda target: _torch_save(target, values, steps)),
        "SQLite": (steps, lambda target: _sqlite(target, values, steps)),
    }
    found = {name: Rates() for name in ways}
    for _ in range(rounds):
        for name in random.sample(list(ways), len(ways)):
            target = place / "tensors"
            target.mkdir()
            saved_steps, save = ways[name]
            with Clock() as clock:
                save(target)
            gigabytes = size * count * saved_steps / 1e9
            found[name].speed.append(gigabytes / clock.seconds)
            found[name].cpu.append(clock.cpu / gigabytes)
            shutil.rmtree(target)
    return found


def offered(program: Path, place: Path) -> tuple[list[float], int]:
    """Microseconds of steps that save 64 MiB each, 10 ms apart, and how many tensors were dropped for it."""
    target = place / "offered"
    with subprocess.Popen(
        [program, target, target], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        output, _ = process.communicate("offer 40 64 1048576\n")
    shutil.rmtree(target)
    *times, dropped = map(float, output.split())
    return times, int(dropped)


def _cpu_seconds() -> float:
    return sum(time for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN) for time in resource.getrusage(who)[:2])


def _record(program: Path, target: Path, command: str) -> None:
    subprocess.run([program, target, target], input=f"{command}\n", stdout=subprocess.PIPE, text=True, check=True)


def _torch_save(target: Path, values: dict[str, torch.Tensor], steps: int) -> None:
    for step in range(steps):
        with (target / f"{step}.pt").open("wb") as file:
            torch.save(values, file)
            file.flush()
            os.fdatasync(file.fileno())


def _sqlite(target: Path, values: dict[str, torch.Tensor], steps: int) -> None:
    connection = sqlite3.connect(target / "run.db")
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = normal")
    connection.execute("create table tensors (step integer, name text, content blob)")
    for step in range(steps):
        with connection:
            rows = ((step, name, value.numpy()) for name, value in values.items())
            connection.executemany("insert into tensors values (?, ?, ?)", rows)
    connection.close()
    with (target / "run.db").open("rb") as file:
        os.fdatasync(file.fileno())
