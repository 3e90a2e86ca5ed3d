"""How much slower training in a framework gets, and whether results stay the same to the bit.

Each worker, FRAMEWORK_worker.py in this directory, trains its workloads (`--list` prints
their names) and prints a line "cpu MILLISECONDS" with the CPU time of a step after the warm-up,
and a line "digest TEXT" of the results. A worker that knows `--tools` prints the names of the framework's own
debuggers, which it uses if their names follow that of the workload. All modes are run in turn, in processes of
their own.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parents[2]
sys.path.insert(0, str(_ROOT / "tests" / "e2e"))

_GRAPHDBG = str(Path(sys.executable).with_name("graphdbg"))
_RUN = (_GRAPHDBG, "run", "--no-wait")
_CONTINUE = ("--on-hit", "continue")
# What is put before the command of the worker, by mode.
_MODES: dict[str, tuple[str, ...]] = {
    "script without graphdbg": (),
    "same script again (noise)": (),
    "attached, nothing watched": (*_RUN, "--"),
    "NaN and infinity sought": (*_RUN, "--break-on", "nan,inf", *_CONTINUE, "--"),
    "a condition on every value": (*_RUN, "--break-on", "expr:nan_count > 0", *_CONTINUE, "--"),
}
# Frameworks with debuggers of their own to compare with.
_WITH_TOOLS = ("tensorflow",)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    frameworks = sorted(file.name.removesuffix("_worker.py") for file in _HERE.glob("*_worker.py"))
    parser.add_argument("framework", choices=frameworks)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workloads", nargs="*", help="by default all")
    parser.add_argument("--python", help="the interpreter that has the framework (default: an environment of its own)")
    arguments = parser.parse_args()
    worker = [arguments.python or _python_with(arguments.framework), str(_HERE / f"{arguments.framework}_worker.py")]
    workloads = arguments.workloads or _output([*worker, "--list"]).split()
    tools = _output([*worker, "--tools"]).split() if arguments.framework in _WITH_TOOLS else []
    for workload in workloads:
        print(f"\n{workload}")
        for line in _compared([*worker, workload], tools, arguments.rounds):
            print(line, flush=True)


def _python_with(framework: str) -> str:
    from environments import python_with

    return str(python_with(framework))


def _output(command: list[str]) -> str:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("GRAPHDBG_")}
    return subprocess.run(command, env=kept, stdout=subprocess.PIPE, text=True, check=True).stdout


def _compared(worker: list[str], tools: list[str], rounds: int) -> Iterator[str]:
    commands = {mode: [*before, *worker] for mode, before in _MODES.items()}
    commands |= {f"{tool}, no graphdbg": [*worker, tool] for tool in tools}
    times: dict[str, list[float]] = {mode: [] for mode in commands}
    digests: dict[str, set[str]] = {mode: set() for mode in commands}
    for _ in range(rounds):
        for mode, command in commands.items():
            output = _output(command)
            times[mode].append(float(_found("cpu", output)))
            digests[mode].add(_found("digest", output))
    plain, *_ = times.values()
    expected, *_ = digests.values()
    for mode, made in times.items():
        ratio = statistics.median(own / base for own, base in zip(made, plain, strict=True))
        same = "same" if digests[mode] == expected else "DIFFERENT"
        yield f"| {mode:35} | {statistics.median(made):8.3f} ms | {ratio:5.2f} | {same} |"


def _found(name: str, output: str) -> str:
    match = re.search(rf"^{name} (\S+)$", output, re.MULTILINE)
    if match is None:
        sys.exit(f"the worker printed no '{name}':\n{output}")
    return match.group(1)


if __name__ == "__main__":
    main()
