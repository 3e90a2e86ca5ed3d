"""How much slower training in a framework gets, and whether results stay the same to the bit.

Each worker, FRAMEWORK_worker.py in this directory, trains a workload slice by slice (slices.py); `--list` prints the
workloads, each with the steps of a slice. A worker that knows `--tools` prints the names of the framework's own
debuggers, which it uses if their names follow that of the workload.

Two processes train the same steps, one of them without graphdbg, and take turns after every slice, so that what else
the machine does meets both. A ratio is that of the two CPU times of a slice; the middle one of all slices counts, and
the quartiles beside it tell how far it is to be trusted. Since two processes with the same script may differ for as
long as they live (TensorFlow's convolutions by a sixth), there are several pairs. The overview has a mode of its own:
it may take a share of the time that passes, and here every process waits for half of it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parents[2]
sys.path.insert(0, str(_ROOT / "tests" / "e2e"))

_GRAPHDBG = str(Path(sys.executable).with_name("graphdbg"))
_RUN = (_GRAPHDBG, "run", "--no-wait")
_CONTINUE = ("--on-hit", "continue")
# What is put before the command of the worker, by mode.
_MODES: dict[str, tuple[str, ...]] = {
    "same script again (noise)": (),
    "attached, nothing watched": (*_RUN, "--no-overview", "--"),
    "NaN and infinity sought": (*_RUN, "--no-overview", "--break-on", "nan,inf", *_CONTINUE, "--"),
    "a condition on every value": (*_RUN, "--no-overview", "--break-on", "expr:nan_count > 0", *_CONTINUE, "--"),
    "attached, with the overview": (*_RUN, "--"),
}
# Frameworks with debuggers of their own to compare with.
_WITH_TOOLS = ("tensorflow",)
# Programs are compiled, and everything is placed in memory.
_WARM_UP_SLICES = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    frameworks = sorted(file.name.removesuffix("_worker.py") for file in _HERE.glob("*_worker.py"))
    parser.add_argument("framework", choices=frameworks)
    parser.add_argument("--pairs", type=int, default=5, help="of processes for each mode, in turn (default: 5)")
    parser.add_argument("--slices", type=int, default=12, help="of each pair (default: 12)")
    parser.add_argument("--workloads", nargs="*", help="by default all")
    parser.add_argument("--modes", nargs="*", default=[], help="parts of the names of modes (default: all modes)")
    parser.add_argument("--python", help="the interpreter that has the framework (default: an environment of its own)")
    arguments = parser.parse_args()
    worker = [arguments.python or _python_with(arguments.framework), str(_HERE / f"{arguments.framework}_worker.py")]
    steps = {name: int(count) for name, count in (line.split() for line in _output([*worker, "--list"]).splitlines())}
    tools = _output([*worker, "--tools"]).split() if arguments.framework in _WITH_TOOLS else []
    unknown = [name for name in arguments.workloads or [] if name not in steps]
    if unknown:
        parser.error(f"no workload {unknown[0]!r}; there are {', '.join(steps)}")
    for workload in arguments.workloads or steps:
        print(f"\n{workload}")
        plain = [*worker, workload]
        for mode, command in _commands(plain, tools, arguments.modes).items():
            compared = _Comparison(plain, command)
            for _ in range(arguments.pairs):
                compared.run_pair(arguments.slices, steps[workload])
            print(f"| {mode:35} | {compared} |", flush=True)


def _python_with(framework: str) -> str:
    from environments import python_with

    return str(python_with(framework))


def _commands(worker: list[str], tools: list[str], words: list[str]) -> dict[str, list[str]]:
    commands = {mode: [*before, *worker] for mode, before in _MODES.items()}
    commands |= {f"{tool}, no graphdbg": [*worker, tool] for tool in tools}
    return {mode: command for mode, command in commands.items() if not words or any(word in mode for word in words)}


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


class _Comparison:
    """A script in some mode beside the same script without graphdbg."""

    def __init__(self, plain: list[str], other: list[str]) -> None:
        self._commands = (plain, other)
        self._times: list[tuple[float, float]] = []
        self._digests: tuple[set[str], set[str]] = (set(), set())

    def run_pair(self, slices: int, steps: int) -> None:
        workers = [_Worker(command) for command in self._commands]
        for number in range(_WARM_UP_SLICES + slices):
            order = workers if number % 2 else workers[::-1]
            times = {worker: worker.train(steps) / steps for worker in order}
            if number >= _WARM_UP_SLICES:
                self._times.append((times[workers[0]], times[workers[1]]))
        for worker, digests in zip(workers, self._digests, strict=True):
            digests.add(worker.end())

    def __str__(self) -> str:
        plain, other = (statistics.median(times) for times in zip(*self._times, strict=True))
        low, middle, high = statistics.quantiles((other / plain for plain, other in self._times), n=4)
        same = "same" if self._digests[0] == self._digests[1] else "DIFFERENT"
        return f"{plain:8.3f} ms | {other:8.3f} ms | {middle:5.3f} ({low:.2f} to {high:.2f}) | {same}"


if __name__ == "__main__":
    main()
