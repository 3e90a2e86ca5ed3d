"""Measures what recording costs, beside other ways to keep the same.

`append` is the recording of the agent (recording_speed.cc), with the ring in the run's directory and in /dev/shm, where
it is if that directory is on a network, `torch.save` a file for each step, and `SQLite` a table in WAL mode with a
transaction for each step. All keep the statistics of 3,000 tensors in each step. They take some steps in turn, in an
order that is shuffled in every round, so that other load on the machine affects all of them equally; the pauses
between steps do not count. Then `append` again beside computing the statistics, packing what was recorded, values
(tensor_speed.py) where the directory is on a disk, and training that is recorded (recorded_training.py).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy
import torch

sys.path.insert(0, str(Path(__file__).parent))
import recorded_training
import tensor_speed

PACK_SPEED = Path(__file__).parent / "pack_speed.py"
PARTS = ("statistics", "values", "training")
TENSORS = 3000
MEASURES = 16
STEPS_OF_ROUND = 20
BETWEEN_STEPS = 0.01
STEPS_OF_BOUND = 4000
ROUNDS_OF_MEASURED = 3
# Elements of each tensor, so that the statistics of all of them take about 50 ms, the step for which the goals are set,
# and about 9 ms.
ELEMENTS = 90_112
FEW_ELEMENTS = 16_384
MEMORY = Path("/dev/shm")
# GB/s from which on the disk is not what limits how fast copies are kept.
FAST_DISK = 2.0


@dataclass
class Times:
    """Microseconds: of each step on the thread that trains, and CPU time of the whole process for each step."""

    steps: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def percentile(self, share: float) -> float:
        return sorted(self.steps)[min(len(self.steps) - 1, int(len(self.steps) * share))]


class Appending:
    """The agent's recording, in a process of its own."""

    def __init__(self, program: Path, directory: Path, ring: Path) -> None:
        self.directory = directory
        self.times = Times()
        self.dropped = 0
        self._process = subprocess.Popen(
            [str(program), str(directory), str(ring)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def _ask(self, line: str) -> list[float]:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return [float(number) for number in self._process.stdout.readline().split()]

    def round(self, steps: int) -> None:
        *times, cpu, dropped = self._ask(f"append {steps}")
        self.times.steps += times
        self.times.cpu.append(cpu / steps)
        self.dropped += int(dropped)

    def measured(self, steps: int, elements: int) -> float:
        """The time of a step with its statistics, recorded, divided by that of one that is not."""
        times = self._ask(f"measure {steps} {elements}")
        return statistics.median(times[1::2]) / statistics.median(times[::2])

    def close(self) -> int:
        """Ends the process and returns the bytes on disk."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()
        return size_of(self.directory)


class Saving:
    """Another way, in this process."""

    def __init__(self, directory: Path, save: Callable[[int, numpy.ndarray], None]) -> None:
        self.directory = directory
        self.times = Times()
        self._save = save
        self._step = 0

    def round(self, steps: int) -> None:
        values = numpy.random.default_rng(0).standard_normal((TENSORS, MEASURES))
        cpu, pauses = time.process_time(), 0.0
        for _ in range(steps):
            self._step += 1
            begin = time.perf_counter()
            self._save(self._step, values)
            self.times.steps.append((time.perf_counter() - begin) * 1e6)
            pause = time.thread_time()
            time.sleep(BETWEEN_STEPS)
            pauses += time.thread_time() - pause
        self.times.cpu.append((time.process_time() - cpu - pauses) / steps * 1e6)

    def close(self) -> int:
        return size_of(self.directory)


def torch_save(directory: Path) -> Saving:
    directory.mkdir()
    names = [f"forward/layers/{each}" for each in range(TENSORS)]

    def save(step: int, values: numpy.ndarray) -> None:
        content = {"step": step, "names": names, "statistics": torch.from_numpy(values)}
        torch.save(content, directory / f"{step:08d}.pt")

    return Saving(directory, save)


def sqlite(directory: Path) -> Saving:
    directory.mkdir()
    connection = sqlite3.connect(directory / "run.db")
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = normal")
    columns = ", ".join(f"m{each} real" for each in range(MEASURES))
    connection.execute(f"create table statistics (step integer, node integer, {columns})")
    insert = f"insert into statistics values ({', '.join('?' * (MEASURES + 2))})"

    def save(step: int, values: numpy.ndarray) -> None:
        with connection:
            connection.executemany(insert, [(step, node, *row) for node, row in enumerate(values.tolist())])

    return Saving(directory, save)


def size_of(directory: Path) -> int:
    return sum(each.stat().st_size for each in directory.rglob("*") if each.is_file())


def pack(run: Path) -> dict[str, Any]:
    """What pack_speed.py prints."""
    command = [sys.executable, str(PACK_SPEED), str(run)]
    figures: dict[str, Any] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return figures


def show(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


def target(name: str, value: float, limit: float, unit: str, at_most: bool = True) -> list[str]:
    reached = value <= limit if at_most else value >= limit
    relation = "at most" if at_most else "at least"
    return [name, f"{value:.4g} {unit}".strip(), f"{relation} {limit:g}", "reached" if reached else "missed"]


def yes(name: str, holds: bool) -> list[str]:
    return [name, "yes" if holds else "no", "yes", "reached" if holds else "missed"]


def measure(program: Path, place: Path, rounds: int) -> list[list[str]]:
    """Prints the comparison in a directory, and returns the lines of the table of targets."""
    with tempfile.TemporaryDirectory(prefix="graphdbg-bench-", dir=place) as temporary:
        root = Path(temporary)
        rings = {place: 1000.0, MEMORY: 200.0} if place != MEMORY else {MEMORY: 200.0}
        appending = {
            f"append, ring in {ring}": Appending(program, root / f"runs{number}", root if ring == place else ring)
            for number, ring in enumerate(rings)
        }
        ways: dict[str, Appending | Saving] = dict(appending)
        ways |= {"torch.save": torch_save(root / "torch"), "SQLite": sqlite(root / "sqlite")}
        for _ in range(rounds):
            for way in random.sample(list(ways.values()), len(ways)):
                way.round(STEPS_OF_ROUND)
        records = rounds * STEPS_OF_ROUND * TENSORS
        first = next(iter(appending.values()))
        # Before anything else is recorded.
        long, short = (
            statistics.median(first.measured(STEPS_OF_ROUND, elements) for _ in range(ROUNDS_OF_MEASURED))
            for elements in (ELEMENTS, FEW_ELEMENTS)
        )
        rows = [[str(place), "step p50", "step p99", "CPU of a step", "of append", "bytes of a record"]]
        for name, way in ways.items():
            times = way.times
            share = statistics.median(times.cpu) / statistics.median(first.times.cpu)
            # `measured` has recorded as well.
            size = way.close() / (records + (2 * ROUNDS_OF_MEASURED * STEPS_OF_ROUND * TENSORS if way is first else 0))
            rows.append(
                [
                    name,
                    f"{times.percentile(0.5):.0f} us",
                    f"{times.percentile(0.99):.0f} us",
                    f"{statistics.median(times.cpu):.0f} us",
                    f"{share:.1f}",
                    f"{size:.0f}",
                ]
            )
        show(rows)
        print(f"\nstatistics of {TENSORS} tensors of {FEW_ELEMENTS} elements, recorded beside not: {short:.3f}\n")
        (run,) = [each for each in (root / "runs0").iterdir() if each.is_dir()]
        packed = pack(run)
        lines = []
        for (name, way), p99_us in zip(appending.items(), rings.values(), strict=True):
            where = f"{name.removeprefix('append, ')}, run in {place}"
            lines += [
                target(f"append, ns a record, {where}", way.times.percentile(0.5) * 1000 / TENSORS, 50, "ns"),
                target(f"append, p99 of a step, {where}", way.times.percentile(0.99), p99_us, "us"),
                target(f"CPU of a step, all threads, {where}", statistics.median(way.times.cpu), 200 + 150, "us"),
                target(f"records dropped, {where}", way.dropped, 0, ""),
            ]
        where = f"in {place}"
        return [
            *lines,
            target(f"50 ms of statistics, recorded beside not {where}", long, 1.01, ""),
            target(f"pack, records in a CPU second {where}", packed["records_per_cpu_second"], 1e6, "", at_most=False),
            target(f"pack, bytes of a row {where}", packed["bytes_of_a_row"], 60, "B"),
            target(f"pack, most memory {where}", packed["peak_bytes"] / 1e9, 1, "GB"),
            yes(f"unpack(pack(x)) is x {where}", packed["same"]),
        ]


def measure_tensors(program: Path, place: Path, rounds: int) -> list[list[str]]:
    """The same for values."""
    lines = []
    with tempfile.TemporaryDirectory(prefix="graphdbg-bench-", dir=place) as temporary:
        root = Path(temporary)
        for shape, (size, count, steps) in tensor_speed.SHAPES.items():
            found = tensor_speed.rates(program, root, size, count, steps, rounds)
            rows = [[f"{shape} a step in {place}", "GB/s", "of the disk", "CPU s/GB"]]
            shares = {}
            for name, rates in found.items():
                pairs = zip(rates.speed, found["disk"].speed, strict=True)
                shares[name] = statistics.median(speed / disk for speed, disk in pairs)
                speed, cpu = statistics.median(rates.speed), statistics.median(rates.cpu)
                rows.append([name, f"{speed:.2f}", f"{shares[name]:.2f}", f"{cpu:.2f}"])
            show(rows)
            print()
            where = f"{shape} in {place}"
            pairs = zip(found["recording"].speed, found["disk"].speed, strict=True)
            limited = [speed / min(disk, FAST_DISK) for speed, disk in pairs]
            # 0.15 s a GB where a copy takes 0.06 s.
            pairs = zip(found["recording"].cpu, found["copy"].cpu, strict=True)
            cpu = statistics.median(recording / copy for recording, copy in pairs)
            line = f"values, part of the disk's speed up to {FAST_DISK:g} GB/s, {where}"
            lines.append(target(line, statistics.median(limited), 0.9, "", False))
            lines.append(target(f"values, CPU time beside a copy's, {where}", cpu, 2.5, ""))
        times, dropped = tensor_speed.offered(program, root)
        print(
            f"64 MiB offered in each step, 10 ms apart: {statistics.median(times) / 1e3:.1f} ms a step, at most "
            f"{max(times) / 1e3:.1f} ms; {dropped} of {64 * len(times)} values dropped\n"
        )
    return lines


def measure_training(rounds: int) -> list[list[str]]:
    """The same for training."""
    with tempfile.TemporaryDirectory(prefix="graphdbg-bench-") as temporary:
        root = Path(temporary)
        milliseconds, found = recorded_training.ratios("short_resnet", root / "usual", rounds)
        show(
            [
                [f"a step of {milliseconds:.0f} ms, in CPU time", "of that of the script"],
                ["the script again: the noise", f"{found['again']:.3f}"],
                ["the script with freed memory kept", f"{found['kept']:.3f}"],
                [f"recorded: {', '.join(recorded_training.COLLECTIONS)}", f"{found['recorded']:.3f}"],
                ["hooks with torch's statistics", f"{found['hooks']:.3f}"],
            ]
        )
        print()
        share = recorded_training.measured_share("mlp", root / "all", STEPS_OF_BOUND)
        limit = 1.1 * recorded_training.OVERHEAD
        small, noise = recorded_training.beside_attached("mlp", root / "small")
        print(
            f"every op of a small model, recorded beside attached: {small:.3f}; attached beside attached: {noise:.3f}\n"
        )
        return [
            target(f"training, steps of {milliseconds:.0f} ms, of the script", found["recorded"], 1.05, ""),
            target("the same beside the script with freed memory kept", found["recorded"] / found["kept"], 1.05, ""),
            target("every op of a small model, beside attached", small, 1 + limit, ""),
            target("time spent measuring, every op of a small model", share, limit, ""),
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", metavar="DIRECTORY", nargs="*", type=Path, help="default: $TMPDIR")
    parser.add_argument("--program", type=Path, required=True, help="tools/bench:recording_speed")
    parser.add_argument("--rounds", type=int, default=15, help=f"of {STEPS_OF_ROUND} steps each (default: 15)")
    parser.add_argument(
        "--parts", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help=f"{', '.join(PARTS)} (default: all)"
    )
    arguments = parser.parse_args()
    places = arguments.directories or [Path(tempfile.gettempdir())]
    print(f"{TENSORS} tensors a step, medians, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors\n")
    rounds, lines = arguments.rounds, []
    for place in places:
        if "statistics" in arguments.parts:
            lines += measure(arguments.program, place, rounds)
        if "values" in arguments.parts and place != MEMORY:
            lines += measure_tensors(arguments.program, place, max(3, rounds // 3))
    if "training" in arguments.parts:
        lines += measure_training(rounds)
    show([["", "measured", "target", ""], *lines])


if __name__ == "__main__":
    main()
