"""What a running training notices of being attached to and left: its longest steps, and how fast it is afterwards.

Two processes train the same at the same time, so that other load affects both. One of them is attached to and left
again and again; the other is never touched.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy

WORKER = Path(__file__).with_name("attach_worker.py")
GRAPHDBG = [sys.executable, "-m", "graphdbg.cli.main"]
# Of a process that has begun to train.
WARM_STEPS = 200
# Columns of `Training.steps`.
WALL, THREAD, LOSS = 0, 2, 3


class Span(NamedTuple):
    begin: float
    end: float


class Training:
    """A process that trains."""

    def __init__(self, directory: Path, name: str) -> None:
        self._file = directory / name
        self._process = subprocess.Popen([sys.executable, str(WORKER), str(self._file)])
        self.pid = self._process.pid
        while len(self.steps()) < WARM_STEPS:
            if self._process.poll() is not None:
                raise SystemExit(f"the training has ended with {self._process.returncode}")
            time.sleep(0.1)

    def __enter__(self) -> Training:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def steps(self) -> numpy.ndarray:
        """A row for each step: when it ended, the CPU time of the process and of its main thread, and the loss."""
        content = self._file.read_bytes() if self._file.exists() else b""
        return numpy.frombuffer(content[: len(content) // 32 * 32], "<f8").reshape(-1, 4)

    def _within(self, span: Span) -> numpy.ndarray:
        """The steps that end within a span, and the one before."""
        steps = self.steps()
        first, last = numpy.searchsorted(steps[:, 0], span)
        return steps[max(first - 1, 0) : last + 1]

    def longest_ms(self, span: Span, column: int) -> float:
        """The longest step of which some part is within a span, by a column of `steps`."""
        return float(numpy.diff(self._within(span)[:, column]).max() * 1000)

    def cpu_ms(self, span: Span) -> float:
        """The CPU time of a step within a span."""
        steps = self._within(span)
        return float((steps[-1, 1] - steps[0, 1]) / (len(steps) - 1) * 1000)


def timed(environment: dict[str, str], *arguments: str) -> Span:
    begin = time.monotonic()
    done = subprocess.run([*GRAPHDBG, *arguments], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return Span(begin, time.monotonic())


def median_and_most(values: list[float]) -> str:
    return f"{statistics.median(values):.1f} | {max(values):.1f}"


def report_longest(attached: Training, twin: Training, spans: dict[str, list[Span]]) -> None:
    for title, column in (("longest step in ms; goal 50", WALL), ("the same, CPU time of the main thread", THREAD)):
        print(f"| {title} | median | most | untouched, median | most |")
        print("| --- | --- | --- | --- | --- |")
        for name, each in spans.items():
            longest = [[training.longest_ms(span, column) for span in each] for training in (attached, twin)]
            print(f"| {name} | {' | '.join(map(median_and_most, longest))} |")
        print()


def compare(when: str, attached: Training, twin: Training, windows: int, seconds: float) -> None:
    """Prints the ratio of the CPU time of steps, over windows of both at the same time."""
    begin = time.monotonic()
    time.sleep(windows * seconds + 0.5)
    spans = [Span(begin + i * seconds, begin + (i + 1) * seconds) for i in range(windows)]
    ratios = sorted(attached.cpu_ms(span) / twin.cpu_ms(span) for span in spans)
    quarters = f"{ratios[len(ratios) // 4]:.3f} to {ratios[len(ratios) * 3 // 4]:.3f}"
    print(
        f"CPU time of a step {when}, beside that of the untouched one, {windows} windows of {seconds:g} s: median "
        f"{statistics.median(ratios):.3f}, middle half {quarters}"
    )


def same_losses(attached: Training, twin: Training) -> str:
    one, other = attached.steps()[:, LOSS], twin.steps()[:, LOSS]
    common = min(len(one), len(other))
    different = numpy.flatnonzero(one[:common].view("<u8") != other[:common].view("<u8"))
    return (
        f"all {common} are the same bits" if not len(different) else f"step {different[0] + 1} is the first to differ"
    )


def measure(times: int, windows: int, seconds: float, directory: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GRAPHDBG_")}
    environment["XDG_DATA_HOME"] = str(directory / "share")
    with ExitStack() as running:
        server = subprocess.Popen(
            [*GRAPHDBG, "start", "--json", "--port=0", "--debugger-port=0", f"--data-dir={directory / 'data'}"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        running.callback(server.communicate, timeout=30)
        running.callback(server.terminate)
        assert server.stdout is not None
        address = json.loads(server.stdout.readline())["http_address"]
        attached = running.enter_context(Training(directory, "attached"))
        twin = running.enter_context(Training(directory, "twin"))
        compare("before", attached, twin, windows, seconds)
        spans: dict[str, list[Span]] = {"attach, the first time": [], "attach again": [], "detach": []}
        for i in range(times):
            spans["attach again" if i else "attach, the first time"].append(
                timed(environment, "attach", "--pid", str(attached.pid), f"--server={address}")
            )
            time.sleep(1)
            spans["detach"].append(timed(environment, "detach", str(attached.pid)))
            time.sleep(1)
        report_longest(attached, twin, {name: each for name, each in spans.items() if each})
        attaching = [span.end - span.begin for span in itertools.chain(*list(spans.values())[:2])]
        print(f"from the command to attached: median {statistics.median(attaching):.2f} s; goal 0.5 s")
        compare("afterwards (goal: as before, within 0.01)", attached, twin, windows, seconds)
        print(f"losses of both: {same_losses(attached, twin)}")
        loads = os.getloadavg()
        print(f"load of the machine: {loads[0]:.1f} on {os.cpu_count()} cores; these two trainings are 2 of it")


def main() -> None:
    parser = argparse.ArgumentParser(prog="tools/dev bench attach", description=__doc__)
    parser.add_argument("--count", type=int, default=10, help="how often it is attached to and left (default: 10)")
    parser.add_argument("--windows", type=int, default=30, help="windows that are compared afterwards (default: 30)")
    parser.add_argument("--seconds", type=float, default=1, help="the length of a window (default: 1)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        measure(arguments.count, arguments.windows, arguments.seconds, Path(directory))


if __name__ == "__main__":
    main()
