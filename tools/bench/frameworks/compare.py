"""How much slower training in a framework gets, and whether results stay the same to the bit.

Each worker, FRAMEWORK_worker.py in this directory, trains a workload slice by slice (slices.py); `--list` prints the
workloads, each with the steps of a slice. A worker that knows `--tools` prints the names of the framework's own
debuggers, which it uses if their names follow that of the workload.

One process for each mode trains the same steps. They take turns after every slice, in an order drawn anew, so that
what else the machine does meets all of them. A ratio is that of two CPU times of the same slice; the middle one of all
slices counts, and the quartiles beside it tell how far it is to be trusted.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parents[2]
sys.path.insert(0, str(_ROOT / "tests" / "e2e"))

_GRAPHDBG = str(Path(sys.executable).with_name("graphdbg"))
_RUN = (_GRAPHDBG, "run", "--no-wait")
_CONTINUE = ("--on-hit", "continue")
# What is put before the command of the worker, by mode. The first is what the others are compared with.
_MODES: dict[str, tuple[str, ...]] = {
    "script without graphdbg": (),
    "same script again (noise)": (),
    "attached, nothing watched": (*_RUN, "--"),
    "NaN and infinity sought": (*_RUN, "--break-on", "nan,inf", *_CONTINUE, "--"),
    "a condition on every value": (*_RUN, "--break-on", "expr:nan_count > 0", *_CONTINUE, "--"),
}
# Frameworks with debuggers of their own to compare with.
_WITH_TOOLS = ("tensorflow",)
# Programs are compiled, and everything is placed in memory.
_WARM_UP_SLICES = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    frameworks = sorted(file.name.removesuffix("_worker.py") for file in _HERE.glob("*_worker.py"))
    parser.add_argument("framework", choices=frameworks)
    parser.add_argument(
        "--rounds", type=int, default=3, help="processes of each mode, one after the other (default: 3)"
    )
    parser.add_argument("--slices", type=int, default=20, help="of each process (default: 20)")
    parser.add_argument("--workloads", nargs="*", help="by default all")
    parser.add_argument("--modes", nargs="*", default=[], help="words of the names of modes to compare (default: all)")
    parser.add_argument("--python", help="the interpreter that has the framework (default: an environment of its own)")
    arguments = parser.parse_args()
    worker = [arguments.python or _python_with(arguments.framework), str(_HERE / f"{arguments.framework}_worker.py")]
    steps = {name: int(count) for name, count in (line.split() for line in _output([*worker, "--list"]).splitlines())}
    tools = _output([*worker, "--tools"]).split() if arguments.framework in _WITH_TOOLS else []
    for workload in arguments.workloads or steps:
        commands = _commands([*worker, workload], tools, arguments.modes)
        print(f"\n{workload}")
        for line in _compared(commands, arguments.rounds, arguments.slices, steps[workload]):
            print(line, flush=True)


def _python_with(framework: str) -> str:
    from environments import python_with

    return str(python_with(framework))


def _commands(worker: list[str], tools: list[str], words: list[str]) -> dict[str, list[str]]:
    commands = {mode: [*before, *worker] for mode, before in _MODES.items()}
    commands |= {f"{tool}, no graphdbg": [*worker, tool] for tool in tools}
    first, *others = commands
    kept = [first, *(mode for mode in others if not words or any(word in mode for word in words))]
    return {mode: commands[mode] for mode in kept}


def _environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith("GRAPHDBG_")}


def _output(command: list[str]) -> str:
    return subprocess.run(command, env=_environment(), stdout=subprocess.PIPE, text=True, check=True).stdout


class _Worker:
    """A process that trains a workload in one mode."""

    def __init__(self, command: list[str]) -> None:
        self._errors: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115 (as long as the process)
        self._process = subprocess.Popen(
            command,
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            bufsize=1,
        )

    def train(self, steps: int) -> float:
        """The CPU time, in milliseconds."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{steps}\n")
        return float(self._read("cpu"))

    def end(self) -> str:
        """The digest of what was trained."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        digest = self._read("digest")
        self._process.wait()
        return digest

    def _read(self, name: str) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(f"{name} "):
                return line.split()[1]
        self._errors.seek(0)
        sys.exit(f"the worker printed no '{name}':\n{self._errors.read()}")


def _compared(commands: dict[str, list[str]], rounds: int, slices: int, steps: int) -> Iterator[str]:
    times: dict[str, list[float]] = {mode: [] for mode in commands}
    digests: dict[str, set[str]] = {mode: set() for mode in commands}
    for _ in range(rounds):
        workers = {mode: _Worker(command) for mode, command in commands.items()}
        for number in range(_WARM_UP_SLICES + slices):
            for mode in random.sample(list(workers), len(workers)):
                time = workers[mode].train(steps) / steps
                if number >= _WARM_UP_SLICES:
                    times[mode].append(time)
        for mode, worker in workers.items():
            digests[mode].add(worker.end())
    plain, *_ = times.values()
    expected, *_ = digests.values()
    for mode, made in times.items():
        low, middle, high = statistics.quantiles([own / base for own, base in zip(made, plain, strict=True)], n=4)
        same = "same" if digests[mode] == expected else "DIFFERENT"
        yield f"| {mode:35} | {statistics.median(made):8.3f} ms | {middle:5.2f} ({low:.2f} to {high:.2f}) | {same} |"


if __name__ == "__main__":
    main()
