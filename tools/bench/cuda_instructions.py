"""Counts the instructions that the statistics kernels execute per element, from their
machine code. This shows what limits a kernel without running it on a GPU. Needs nvcc and
nvdisasm (`pip install nvidia-cuda-nvdisasm` if the toolkit does not contain it)."""

from __future__ import annotations

import argparse
import heapq
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

KERNELS = Path("agent/kernels/cuda/kernels.cu")
ELEMENTS = {"Float32": 4, "Bfloat16": 2, "Float16": 2, "Float64": 8, "Int64": 8, "Int32": 4, "Uint8": 1}
VECTOR_BYTES = 16


@dataclass(frozen=True)
class Gpu:
    """A GPU: its memory bandwidth, and the lanes that a multiprocessor can issue per clock, by unit."""

    name: str
    architecture: str
    multiprocessors: int
    ghz: float
    gb_s: float
    lanes: dict[str, int]


GPUS = [
    Gpu("H200", "sm_90", 132, 1.7, 4800, {"issue": 128, "alu": 64, "fma": 64, "fp64": 64, "to fp64": 16}),
    Gpu("A100", "sm_80", 108, 1.41, 2039, {"issue": 128, "alu": 64, "fma": 64, "fp64": 32, "to fp64": 16}),
]

# Units that can be a bottleneck, by the names of their instructions. All others use the
# FP32 units, which are never the bottleneck.
UNITS = [
    ("to fp64", re.compile(r"[FI]2F\.F64")),
    ("fp64", re.compile(r"D(ADD|MUL|FMA|SETP|MNMX)")),
    ("load", re.compile(r"LD")),
    ("branch", re.compile(r"BRA|BSSY|BSYNC|WARPSYNC|NOP|EXIT")),
    (
        "alu",
        re.compile(
            r"I?FSETP|FMNMX|FSEL|SEL|ISETP|IADD3|VIADD|LOP3|PLOP3|PRMT|SHF|LEA|V?HMNMX|HSET|IABS|V?IMNMX|POPC|MOV$"
        ),
    ),
]


@dataclass
class Instruction:
    name: str
    # The target if it is a branch, and whether it never continues with the next one.
    target: str | None
    leaves: bool


def unit_of(name: str) -> str:
    return next((unit for unit, pattern in UNITS if pattern.match(name)), "fma")


def functions(assembly: str) -> dict[str, list[Instruction | str]]:
    """The instructions and labels (str) of each kernel."""
    found: dict[str, list[Instruction | str]] = {}
    lines: list[Instruction | str] = []
    for line in assembly.splitlines():
        if match := re.match(r"\.text\.(\w+):", line):
            lines = found.setdefault(match[1], [])
        elif match := re.match(r"(\.L_\w+):", line):
            lines.append(match[1])
        elif match := re.match(r"\s+/\*[0-9a-f]+\*/\s+(@!?U?P\w+)?\s*([A-Z0-9_.a-z]+)(.*);", line):
            branch = re.search(r"`\((\.L_\w+)\)", match[3]) if match[2].startswith("BRA") else None
            predicated = match[1] is not None or bool(re.match(r"\s*!?U?P\d", match[3]))
            leaves = match[2] in ("BRA", "EXIT", "RET") and not predicated
            lines.append(Instruction(match[2], branch[1] if branch else None, leaves))
    return found


def round_trip(lines: list[Instruction | str]) -> list[Instruction]:
    """The instructions on the shortest path through the main loop, which finite elements take."""
    labels = {line: i for i, line in enumerate(lines) if isinstance(line, str)}
    start = next(i for i, line in enumerate(lines) if isinstance(line, Instruction) and ".128" in line.name)
    before: dict[int, int] = {}
    # Ordered by the number of instructions so far.
    queue = [(0, start)]
    while queue and start not in before:
        count, at = heapq.heappop(queue)
        line = lines[at]
        following = [] if isinstance(line, Instruction) and line.leaves else [at + 1]
        if isinstance(line, Instruction) and line.target is not None:
            following.append(labels[line.target])
        for following_at in following:
            if following_at < len(lines) and following_at not in before:
                before[following_at] = at
                heapq.heappush(queue, (count + isinstance(line, Instruction), following_at))
    path = [start]
    while (at := before[path[-1]]) != start:
        path.append(at)
    return [line for line in map(lines.__getitem__, path) if isinstance(line, Instruction)]


def bound(gpu: Gpu, units: Counter[str], elements: int, size: int) -> tuple[str, float]:
    """The busiest unit at full memory bandwidth, and its utilization."""
    per_clock = gpu.gb_s / size / gpu.ghz / gpu.multiprocessors / elements
    loads = {unit: units[unit] * per_clock / lanes for unit, lanes in gpu.lanes.items() if unit != "issue"}
    loads["issue"] = sum(units.values()) * per_clock / gpu.lanes["issue"]
    busiest = max(loads, key=lambda unit: loads[unit])
    return busiest, loads[busiest]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--nvdisasm", default="nvdisasm")
    arguments = parser.parse_args()
    for program in (arguments.nvcc, arguments.nvdisasm):
        if shutil.which(program) is None:
            raise SystemExit(f"SKIPPED: {program} not found")
    columns = ["load", "alu", "fma", "to fp64", "fp64", "branch"]
    print(f"| GPU | dtype | all | {' | '.join(columns)} | busiest unit at full memory bandwidth |")
    print("| --- " * (len(columns) + 4) + "|")
    for gpu in GPUS:
        with tempfile.NamedTemporaryFile(suffix=".cubin") as cubin:
            options = ["-cubin", f"-arch={gpu.architecture}", "-O3", "-std=c++17", "-I."]
            subprocess.run([arguments.nvcc, *options, KERNELS, "-o", cubin.name], check=True)
            command = [arguments.nvdisasm, "-c", cubin.name]
            assembly = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        kernels = functions(assembly)
        for dtype, size in ELEMENTS.items():
            loop = round_trip(kernels[f"Statistics{dtype}"])
            elements = sum(".128" in i.name for i in loop) * VECTOR_BYTES // size
            units = Counter(unit_of(i.name) for i in loop)
            unit, load = bound(gpu, units, elements, size)
            counts = " | ".join(f"{units[c] / elements:.2f}" for c in columns)
            print(f"| {gpu.name} | {dtype.lower()} | {len(loop) / elements:.1f} | {counts} | {unit}, {load:.0%} |")


if __name__ == "__main__":
    main()
