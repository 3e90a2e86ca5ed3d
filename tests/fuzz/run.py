"""Runs the fuzz targets, and prints what each of them did.

An input that crashes a target, or keeps it busy for too long, is saved; once its cause
is mended, it belongs into the target's corpus.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

MAX_MEMORY_MB = 2048


@dataclass
class Target:
    name: str
    program: Path
    corpus: list[Path]


@dataclass
class Result:
    target: Target
    executions: int
    per_second: int
    # libFuzzer's counters: covered edges of the control flow, and features.
    edges: int
    features: int
    corpus_size: int
    cpu_seconds: float
    findings: list[Path]


def last_number(pattern: str, log: str) -> int:
    found = re.findall(pattern, log)
    return int(found[-1]) if found else 0


def wait_for(process: subprocess.Popen[bytes]) -> float:
    """Returns the CPU time that the process has used."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def run(target: Target, seconds: int, hang: int, out: Path) -> Result:
    """Inputs that reach new code are kept in `out`, for the next run."""
    corpus, findings = out / target.name, out / "findings"
    corpus.mkdir(parents=True, exist_ok=True)
    findings.mkdir(exist_ok=True)
    prefix = f"{findings}/{target.name}-"
    seeds = sorted({str(file.parent) for file in target.corpus})
    log = out / f"{target.name}.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [
                *("nice", "-n", "15", str(target.program), str(corpus), *seeds),
                *(f"-max_total_time={seconds}", f"-timeout={hang}", f"-rss_limit_mb={MAX_MEMORY_MB}"),
                *("-print_final_stats=1", f"-artifact_prefix={prefix}"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        cpu_seconds = wait_for(process)
    text = log.read_text(errors="replace")
    found = sorted(findings.glob(f"{target.name}-*"))
    if process.returncode and not found:
        sys.exit(f"{target.name} ended with {process.returncode}: see {log}")
    return Result(
        target,
        last_number(r"stat::number_of_executed_units: (\d+)", text) or last_number(r"#(\d+)\t", text),
        last_number(r"stat::average_exec_per_sec: +(\d+)", text) or last_number(r"exec/s: (\d+)", text),
        last_number(r"cov: (\d+)", text),
        last_number(r"ft: (\d+)", text),
        last_number(r"corp: (\d+)/", text),
        cpu_seconds,
        found,
    )


def read_targets(lines: list[str]) -> list[Target]:
    """Each line has a target's name, its program and its corpus files."""
    targets = []
    for line in lines:
        name, program, *corpus = line.split()
        targets.append(Target(name, Path(program), [Path(file) for file in corpus]))
    return targets


def row(target: str, *cells: str) -> str:
    return f"{target:24}" + "".join(f"{cell:>14}" for cell in cells)


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/dev fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="for all targets together (default: 10)")
    parser.add_argument("--jobs", type=int, default=1, help="targets that run at the same time (default: 1)")
    parser.add_argument("--hang", type=int, default=1, help="seconds that an input may take at most (default: 1)")
    parser.add_argument("--targets", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, required=True, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    targets = read_targets(arguments.targets.read_text().splitlines())
    seconds = max(1, int(arguments.minutes * 60 * arguments.jobs / len(targets)))
    print(row("target", "executions", "per second", "edges", "features", "corpus", "CPU s", "findings"))
    results: list[Result] = []
    with ThreadPoolExecutor(arguments.jobs) as pool:
        runs = pool.map(lambda target: run(target, seconds, arguments.hang, arguments.out), targets)
        for r in runs:
            results.append(r)
            counters = (r.executions, r.per_second, r.edges, r.features, r.corpus_size, int(r.cpu_seconds))
            print(row(r.target.name, *(f"{counter:,}" for counter in (*counters, len(r.findings)))), flush=True)
    findings = [file for result in results for file in result.findings]
    total = sum(result.executions for result in results)
    minutes = sum(result.cpu_seconds for result in results) / 60
    print(f"{total:,} executions of {len(results)} targets in {minutes:.0f} CPU minutes, {len(findings)} findings")
    for file in findings:
        print(f"  {file}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
