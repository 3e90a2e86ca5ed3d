"""How much slower training is while it is recorded, beside hooks that compute statistics with torch.

Each mode has its own process; they train some steps in turn, in an order that is shuffled in every round. A ratio
divides the CPU time by that of the plain run in the same round.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from workloads import WORKLOADS

WORKER = Path(__file__).parent / "worker.py"
COLLECTIONS = ("losses", "weights", "gradients", "layers")
# The part of the job's time that recording may take.
OVERHEAD = 0.05
# The placement of its memory makes a process that trains a small model up to a tenth faster or slower for its whole
# lifetime, so that ratios are those of several pairs of processes.
PAIRS = 7
ROUNDS_OF_PAIR = 3
STEPS_BESIDE_ATTACHED = 5_000
# As in a recorded job, the C library keeps freed memory, which by itself makes a step with large tensors faster.
KEPT_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(32 << 20), "MALLOC_TRIM_THRESHOLD_": str(1 << 30)}


class Worker:
    """A process that trains. `peer` is one of peers.PEERS, or names none."""

    def __init__(self, workload: str, peer: str, environment: dict[str, str]) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("GRAPHDBG")}
        self._process = subprocess.Popen(
            [sys.executable, str(WORKER), workload, peer],
            env=clean | environment | {"OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._line()

    def _line(self) -> str:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("a job has ended early")
        return line

    def run(self, steps: int) -> float:
        """The CPU time of some steps, in seconds."""
        assert self._process.stdin
        self._process.stdin.write(f"{steps}\n")
        self._process.stdin.flush()
        return float(self._line().split()[0])

    def stop(self) -> None:
        self._process.communicate()


def recorded(place: Path, collections: tuple[str, ...]) -> dict[str, str]:
    """The environment of a job that is recorded in a directory, which is created."""
    place.mkdir()
    configuration = place / "graphdbg.json"
    entries = [{"name": name, "level": "statistics"} for name in collections]
    configuration.write_text(json.dumps({"record": {"overhead": OVERHEAD}, "collections": entries}))
    return {"GRAPHDBG_ENABLE": "1", "GRAPHDBG_RECORD": str(place), "GRAPHDBG_CONFIG": str(configuration)}


def ratios(workload: str, place: Path, rounds: int) -> tuple[float, dict[str, float]]:
    """CPU milliseconds of a plain step, and by mode how many times as much a step takes."""
    workers = {
        "plain": Worker(workload, "", {}),
        "again": Worker(workload, "", {}),
        "kept": Worker(workload, "", KEPT_MEMORY),
        "recorded": Worker(workload, "", recorded(place, COLLECTIONS)),
        "hooks": Worker(workload, "hooks", {}),
    }
    times = _times_in_turn(workers, WORKLOADS[workload][1], rounds)
    plain = times.pop("plain")
    return statistics.median(plain) * 1e3, {name: _ratio(each, plain) for name, each in times.items()}


def beside_attached(workload: str, place: Path) -> tuple[float, float]:
    """How many times the CPU time a job takes that measures every output as often as it may.

    Beside a job that is attached. Rounds are long because a job that has waited for its turn has saved a part of its
    limit, which it uses up at the beginning.

    Returns:
        The median of the pairs of processes, and that of pairs that are both only attached: the noise.
    """
    attached = {"GRAPHDBG_ENABLE": "1", "GRAPHDBG_WAIT": "0", "GRAPHDBG_CONNECT_TIMEOUT": "0.1", **KEPT_MEMORY}
    found: list[float] = []
    noise: list[float] = []
    place.mkdir()
    for pair in range(PAIRS):
        workers = {
            "attached": Worker(workload, "", attached),
            "again": Worker(workload, "", attached),
            "recorded": Worker(workload, "", recorded(place / str(pair), ("all",))),
        }
        times = _times_in_turn(workers, STEPS_BESIDE_ATTACHED, ROUNDS_OF_PAIR)
        found.append(_ratio(times["recorded"], times["attached"]))
        noise.append(_ratio(times["again"], times["attached"]))
    return statistics.median(found), statistics.median(noise)


def _times_in_turn(workers: dict[str, Worker], steps: int, rounds: int) -> dict[str, list[float]]:
    """The CPU seconds of a step in each round but the first. Ends the workers."""
    times: dict[str, list[float]] = {name: [] for name in workers}
    for number in range(rounds + 1):
        for name in random.sample(list(workers), len(workers)):
            seconds = workers[name].run(steps) / steps
            if number:
                times[name].append(seconds)
    for worker in workers.values():
        worker.stop()
    return times


def _ratio(times: list[float], bases: list[float]) -> float:
    return statistics.median(one / base for one, base in zip(times, bases, strict=True))


def measured_share(workload: str, place: Path, steps: int) -> float:
    """The part of its time that a job spends measuring every output, which is much more than it may."""
    from graphdbg.runs import open_run

    worker = Worker(workload, "", recorded(place, ("all",)))
    # Without pauses, which would count as time of the job.
    worker.run(steps)
    worker.stop()
    (run,) = [each for each in place.iterdir() if each.is_dir()]
    marks = [mark for mark in open_run(run).rank(0).steps.marks.values() if mark.has_ended and not mark.pass_]
    # Without the first steps, before which the cost is not known.
    marks = sorted(marks, key=lambda mark: mark.step)[len(marks) // 10 :]
    return sum(mark.measuring_ns for mark in marks) / (marks[-1].end_ns - marks[0].begin_ns)
