"""Measures the overhead of graphdbg in training, compared with other debugging methods.

Each workload and mode has its own process, and all processes run at the same time.
They train a few steps in turn, in an order that is shuffled in every round, so that
other load on the machine affects all of them equally. After some rounds they are
replaced by new processes. A ratio divides the CPU time by that of the plain run in the
same round. Results are medians over the rounds.

The first ten steps of each process are measured apart, since a mode may have more to do in
them; the second table has what they take more than those of the plain run, and the ratio
over 1,000 steps with them.

The page's overview, which is on unless it is switched off, has a mode of its own, so that the
others show what they cost alone. What it costs is in the third table: its ratio to being
attached in the same rounds. The goal is 1.01 on `short_resnet`, whose steps take about 50 ms.

The last table has what graphdbg reports itself as the share of its own code, beside the share that the
ratio of wall times shows: that includes what it makes PyTorch's code slower.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from graphdbg.cli.client import Client
from graphdbg.cli.server_process import ServerProcess

sys.path.insert(0, str(Path(__file__).parent))
from workloads import USUAL, WORKLOADS

WORKER = Path(__file__).parent / "worker.py"

MODES = {
    "plain": "the script alone",
    "again": "the script alone again: the noise",
    "attached": "(a) graphdbg attached, nothing watched",
    "overview": "attached with the page's overview: times of ops, and tensors at the borders of modules",
    "weights": "weights watched for NaN and infinity",
    "nan_inf": "(b) all outputs watched for NaN and infinity",
    "captured": "the same, and hits are captured, without a tape of the step",
    "taped_backward": "the same with a tape of the forward and the backward pass",
    "taped": "the same with a tape of the whole step",
    "not_training": "training that does not train (--break-on not_training)",
    "everything": "(c) all outputs watched for every condition",
    "anomaly": "(d) autograd.detect_anomaly",
    "hooks": "(e) forward hooks with torch's statistics",
    "dispatch": "(f) TorchDispatchMode with torch's statistics",
}


# How much of each step is kept for bundles, by mode.
TAPES = {"captured": "off", "taped_backward": "forward_backward", "taped": "whole_step"}


def _watchpoints(client: Client, mode: str) -> list[dict[str, Any]]:
    """The watchpoints of a mode, with parameters that no healthy tensor matches."""
    overflow = {"condition": {"id": "overflow", "params": {}}}
    if mode in TAPES:
        return [overflow | {"actions": ["capture"], "pause": "none"}]
    if mode == "weights":
        return [overflow | {"patterns": ["forward/**/weight"]}]
    if mode == "nan_inf":
        return [overflow]
    rows = client.get("/conditions")["conditions"]
    if mode == "not_training":
        return [{"condition": {"id": row["id"], "params": {}}} for row in rows if row["target"] == "training"]
    if mode == "everything":
        # `executed` is a breakpoint: it matches whenever its op runs.
        rows = [row for row in rows if "cpu" in row["backends"] and row["target"] not in ("training", "op")]
        return [_unmatched(row) for row in rows]
    return []


def _unmatched(condition: dict[str, Any]) -> dict[str, Any]:
    """A watchpoint with the condition, which no healthy tensor matches."""
    # An axis that no tensor has would leave nothing to test.
    params = {
        p["name"]: _unreachable_value(p, condition["id"])
        for p in condition["params"]
        if not _matches_single_element(p) and p["name"] != "axis"
    }
    watchpoint: dict[str, Any] = {"condition": {"id": condition["id"], "params": params}, "pause": "none"}
    if condition["id"] in _PATTERNS:
        watchpoint["patterns"] = [_PATTERNS[condition["id"]]]
        params |= {name: 0 for name in ("rtol", "atol") if name in params}
    return watchpoint


# Patterns that exclude tensors that match although the model is healthy. Some tensors
# never change: the input, tensors that only depend on it, and a bias before a batch
# normalization, which has no gradient. Some are never positive: logarithms of a
# softmax, outside modules.
_PATTERNS = {
    "tensor_not_changed": "backward/*/**",
    "weight_not_changed": "forward/**/weight",
    "activation_inactive": "forward/*/**",
}


def _matches_single_element(parameter: dict[str, Any]) -> bool:
    """Whether a tensor of one element matches: the bound is above 0, and the measured value is 0."""
    return bool(parameter["above_min"])


def _unreachable_value(parameter: dict[str, Any], condition: str) -> float | bool | str:
    """The value that is least likely to match."""
    if parameter["type"] == "expression":
        return "abs_max > 1e30 && step > 100"
    name = str(parameter["name"])
    tested = name.endswith(("_gt", "_ge", "_lt"))
    if parameter["default"] is not None and not tested:
        return parameter["default"]  # type: ignore[no-any-return]
    if name.endswith(("_lt", "_start_inclusive")) or condition.endswith("_lt"):
        return float(-1e30 if parameter["min"] is None else parameter["min"])
    return float(1e30 if parameter["max"] is None else parameter["max"])


# The memory layout makes a process a few percent faster or slower for its whole life,
# so each mode uses several processes.
ROUNDS_PER_PROCESS = 3


@dataclass
class Slice:
    """The time of some steps, in seconds."""

    cpu: float
    wall: float
    # What graphdbg itself reports as its share of a step; None without it.
    inside: float | None = None


class Worker:
    """A process that trains one workload in one mode."""

    def __init__(self, workload: str, mode: str, number: int, server: ServerProcess) -> None:
        self.mode = mode
        self._job = f"{workload}-{mode}-{number}"
        self._client = server.client
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("GRAPHDBG", "ENABLE_MS", "MS_DEBUGGER"))}
        if self.debugged:
            host, port = server.debugger_address.rsplit(":", 1)
            clean |= {"GRAPHDBG_ENABLE": "1", "GRAPHDBG_HOST": host, "GRAPHDBG_PORT": port, "GRAPHDBG_JOB": self._job}
            clean["GRAPHDBG_CAPTURE_TAPE"] = TAPES.get(mode, "auto")
            clean["GRAPHDBG_OVERVIEW"] = "1" if mode == "overview" else "0"
        self._process = subprocess.Popen(
            [sys.executable, str(WORKER), workload, mode],
            env=clean | {"OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if self.debugged:
            self._start_training(server.client)
        self.first_steps = self._read_slice()

    @property
    def debugged(self) -> bool:
        return self.mode in ("attached", "overview", "weights", "nan_inf", "not_training", "everything", *TAPES)

    def _start_training(self, client: Client) -> None:
        while self._state(client) != "paused":
            if self._process.poll() is not None:
                raise SystemExit(f"{self._job}: the job ended before its first step")
            time.sleep(0.1)
        for watchpoint in _watchpoints(client, self.mode):
            client.post(f"/jobs/{self._job}/watchpoints", watchpoint)
        client.post(f"/jobs/{self._job}/control", {"command": "continue"})

    def _state(self, client: Client) -> str:
        jobs = {job["id"]: job["state"] for job in client.get("/jobs")["jobs"]}
        return str(jobs.get(self._job, ""))

    def _read_line(self) -> str:
        output: IO[str] = self._process.stdout  # type: ignore[assignment]
        line = output.readline()
        if not line:
            raise SystemExit(f"{self._job}: the job has exited")
        return line

    def run(self, steps: int) -> Slice:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{steps}\n")
        self._process.stdin.flush()
        part = self._read_slice()
        if self.debugged:
            part.inside = self._client.get(f"/jobs/{self._job}")["overhead"]
        return part

    def _read_slice(self) -> Slice:
        cpu, wall = self._read_line().split()
        return Slice(float(cpu), float(wall))

    def stop(self) -> None:
        self._process.communicate()


Slices = dict[str, list[Slice]]


def measure(workload: str, modes: list[str], rounds: int, server: ServerProcess) -> tuple[Slices, Slices]:
    """By mode the first steps of each process, and the slices without the first one of each."""
    steps = WORKLOADS[workload][1]
    first_steps: Slices = {mode: [] for mode in modes}
    slices: Slices = {mode: [] for mode in modes}
    for start in range(0, rounds, ROUNDS_PER_PROCESS):
        workers = [Worker(workload, mode, start, server) for mode in modes]
        for worker in workers:
            first_steps[worker.mode].append(worker.first_steps)
        for number in range(min(rounds - start, ROUNDS_PER_PROCESS) + 1):
            random.shuffle(workers)
            for worker in workers:
                part = worker.run(steps)
                if number:
                    slices[worker.mode].append(part)
        for worker in workers:
            worker.stop()
    return first_steps, slices


def ratios(slices: Slices) -> dict[str, dict[str, float]]:
    return {mode: {clock: beside(slices, mode, "plain", clock) for clock in ("cpu", "wall")} for mode in slices}


def beside(slices: Slices, mode: str, base: str, clock: str) -> float:
    """How many times as long a mode takes as another one in the same rounds."""
    return statistics.median(
        getattr(one, clock) / getattr(other, clock) for one, other in zip(slices[mode], slices[base], strict=True)
    )


def with_first_steps(first_steps: Slices, step: float, ratio: dict[str, dict[str, float]]) -> dict[str, Any]:
    """By mode, what its first ten steps take more, in milliseconds, and the ratio over 1,000 steps.

    `step`: the CPU time of a later step of the plain run, in seconds.
    """
    plain = first_steps["plain"]
    first = statistics.median(part.cpu for part in plain)
    found = {}
    for mode, parts in first_steps.items():
        more = statistics.median(part.cpu - base.cpu for part, base in zip(parts, plain, strict=True))
        total = first + more + 990 * step * ratio[mode]["cpu"]
        found[mode] = {"first_ten_more_ms": more * 1000, "ratio": total / (first + 990 * step)}
    return found


def table_with_first_steps(results: dict[str, Any]) -> str:
    names = list(results)
    lines = [
        "| the first ten steps take more than the script alone; the ratio of 1,000 steps | " + " | ".join(names) + " |",
        "| --- |" + " --- |" * len(names),
    ]
    for mode in list(MODES)[1:]:
        cells = [results[name]["with_first_steps"].get(mode) for name in names]
        if any(cells):
            shown = (f"{cell['first_ten_more_ms']:.1f} ms; {cell['ratio']:.3f}" if cell else "" for cell in cells)
            lines.append(f"| {MODES[mode]} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def table_beside_attached(results: dict[str, Any]) -> str:
    """Empty if the overview was not measured."""
    shown = {name: found["overview_beside_attached"] for name, found in results.items()}
    if None in shown.values():
        return ""
    lines = [
        "| the overview beside a job that is attached without it | " + " | ".join(shown) + " |",
        "| --- |" + " --- |" * len(shown),
        "| CPU time; goal 1.01 | " + " | ".join(f"{ratio:.3f}" for ratio in shown.values()) + " |",
    ]
    return "\n".join(lines)


def table_of_tapes(results: dict[str, Any]) -> str:
    """Empty if no tape was measured."""
    lines = [
        "| a tape beside captures without one, CPU time; goal 1.01 on short_resnet | " + " | ".join(results) + " |",
        "| --- |" + " --- |" * len(results),
    ]
    for mode in ("taped_backward", "taped"):
        cells = [found["tapes_beside_captured"].get(mode) for found in results.values()]
        if any(cells):
            lines.append(f"| {TAPES[mode]} | " + " | ".join(f"{cell:.3f}" if cell else "" for cell in cells) + " |")
            times = [found["tape_ns_an_op"].get(mode, 0) for found in results.values()]
            goal = "; goal 150" if mode == "taped_backward" else ", with copies of what the optimizer overwrites"
            lines.append(f"| {TAPES[mode]}, ns for each op{goal} | " + " | ".join(f"{ns:.0f}" for ns in times) + " |")
    return "\n".join(lines) if len(lines) > 2 else ""


def own_shares(slices: Slices) -> dict[str, tuple[float, float]]:
    """By mode, the share of a step that graphdbg reports as its own, and the one that is seen from outside."""
    shares = {}
    for mode, parts in slices.items():
        inside = [part.inside for part in parts if part.inside is not None]
        if inside:
            shares[mode] = statistics.median(inside), 1 - 1 / beside(slices, mode, "plain", "wall")
    return shares


def table_of_own_shares(results: dict[str, Any]) -> str:
    """Empty if graphdbg was not measured."""
    lines = [
        "| share of a step that graphdbg reports; that is seen from outside | " + " | ".join(results) + " |",
        "| --- |" + " --- |" * len(results),
    ]
    for mode in MODES:
        cells = [found["own_shares"].get(mode) for found in results.values()]
        if any(cells):
            shown = (f"{cell[0]:.3f}; {cell[1]:.3f}" if cell else "" for cell in cells)
            lines.append(f"| {MODES[mode]} | " + " | ".join(shown) + " |")
    return "\n".join(lines) if len(lines) > 2 else ""


def nanoseconds_of_tapes(slices: Slices, workload: str) -> dict[str, float]:
    """By mode, what a tape takes beside captures without one, for each op."""
    modes = [mode for mode in TAPES if mode != "captured" and {mode, "captured"} <= slices.keys()]
    if not modes:
        return {}
    counted = subprocess.run([sys.executable, str(WORKER), workload, "ops"], capture_output=True, check=True)
    ops = int(counted.stdout) * WORKLOADS[workload][1]
    return {
        mode: statistics.median(
            (one.cpu - other.cpu) / ops * 1e9 for one, other in zip(slices[mode], slices["captured"], strict=True)
        )
        for mode in modes
    }


def table(results: dict[str, Any]) -> str:
    names = list(results)
    lines = ["| mode | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    milliseconds = (f"{results[name]['plain_ms']:.2f} ms" for name in names)
    lines.append(f"| {MODES['plain']}, a step | " + " | ".join(milliseconds) + " |")
    for mode in list(MODES)[1:]:
        cells = [results[name]["ratios"].get(mode) for name in names]
        if any(cells):
            shown = (f"{cell['cpu']:.3f}" if cell else "" for cell in cells)
            lines.append(f"| {MODES[mode]} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="tools/dev bench agent", description=__doc__)
    parser.add_argument(
        "--rounds",
        type=int,
        default=12,
        help="number of rounds; use at least 9 for results to publish (default: %(default)s)",
    )
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=USUAL, metavar="NAME")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES), metavar="MODE")
    parser.add_argument("--json", type=Path, help="write all results to this file")
    arguments = parser.parse_args()
    modes = ["plain", *(mode for mode in arguments.modes if mode != "plain")]
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as directory:
        server = ServerProcess(Path(directory))
        for workload in arguments.workloads:
            first_steps, slices = measure(workload, modes, arguments.rounds, server)
            step = statistics.median(part.cpu for part in slices["plain"]) / WORKLOADS[workload][1]
            ratio = ratios(slices)
            apart = with_first_steps(first_steps, step, ratio)
            both = {"overview", "attached"} <= slices.keys()
            tapes = {
                mode: beside(slices, mode, "captured", "cpu") for mode in TAPES if {mode, "captured"} <= slices.keys()
            }
            results[workload] = {
                "plain_ms": step * 1000,
                "ratios": ratio,
                "with_first_steps": apart,
                "tapes_beside_captured": tapes,
                "own_shares": own_shares(slices),
                "tape_ns_an_op": nanoseconds_of_tapes(slices, workload),
                "overview_beside_attached": beside(slices, "overview", "attached", "cpu") if both else None,
            }
            # What a run that is cut off has measured is not lost.
            if arguments.json:
                arguments.json.write_text(json.dumps(results, indent=2))
            print(f"{workload}: done", file=sys.stderr)
        server.stop()
    shown = (table, table_with_first_steps, table_beside_attached, table_of_tapes, table_of_own_shares)
    print("\n\n".join(filter(None, (each(results) for each in shown))))


if __name__ == "__main__":
    main()
