"""Runs training scripts with the package as the wheel installs it.

The package is copied from $GRAPHDBG_STAGE, a directory that contains `graphdbg`, or
from this interpreter's installed packages. Its agent is replaced by one that writes
every call to a trace file (agent/adapters/pytorch/testing): $GRAPHDBG_TRACE_AGENT,
or Bazel's output.

Each script runs under the newest PyTorch, which this interpreter has, and under the
oldest, which the system's Python has (Debian's python3-torch). Tests of features that
the oldest does not have are marked `newest_torch`. Tests marked `from_python` run a
third time, under the newest PyTorch with the adapter that is written in Python.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
SYSTEM_PYTHON = "/usr/bin/python3"
TRACE_AGENT = "bazel-bin/agent/adapters/pytorch/testing/libgraphdbg.so"
QUICK_START = ROOT / "tests" / "quick_start"

Json = dict[str, Any]


@dataclass
class Run:
    """A finished run of a script."""

    returncode: int
    stdout: str
    stderr: str
    calls: list[Json] = field(default_factory=list)

    def called(self, name: str, step: int | None = None) -> list[Json]:
        return [c for c in self.calls if c["call"] == name and step in (None, c["step"])]

    def executed(self, step: int) -> list[str]:
        """Names of the nodes that ran in a step, in order."""
        return [call["name"] for call in self.called("executed", step) if not call["failed"]]

    def execution(self, name: str, step: int) -> Json:
        calls = [call for call in self.called("executed", step) if call["name"] == name]
        assert len(calls) == 1, f"{name} ran {len(calls)} times in step {step}: {self.executed(step)}"
        return calls[0]

    @property
    def nodes(self) -> dict[str, Json]:
        """The first declaration of each node, by name."""
        nodes: dict[str, Json] = {}
        for call in self.called("node"):
            nodes.setdefault(call["name"], call)
        return nodes

    def user_line(self, name: str) -> int:
        """The line of the innermost user frame in a node's stack."""
        return user_line(self.nodes[name]["stack"])


def user_line(stack: list[Json]) -> int:
    return next((frame["line"] for frame in stack if frame["user"]), 0)


def line_of(script: str, mark: str) -> int:
    """The number of the script's line that ends with a comment."""
    lines = [n for n, text in enumerate(textwrap.dedent(script).splitlines(), 1) if text.endswith(f"# {mark}")]
    assert len(lines) == 1
    return lines[0]


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the package, whose agent writes a trace."""
    staged = os.environ.get("GRAPHDBG_STAGE")
    if staged:
        package = Path(staged) / "graphdbg"
    else:
        spec = importlib.util.find_spec("graphdbg")
        if spec is None or spec.origin is None:
            pytest.skip("graphdbg is not installed and GRAPHDBG_STAGE is not set")
        package = Path(spec.origin).parent
    agent = Path(os.environ.get("GRAPHDBG_TRACE_AGENT") or ROOT / TRACE_AGENT)
    if not agent.exists():
        pytest.skip(f"{agent} is not built and GRAPHDBG_TRACE_AGENT is not set")
    directory = tmp_path_factory.mktemp("stage")
    shutil.copytree(package, directory / "graphdbg", ignore=shutil.ignore_patterns("__pycache__"))
    library = directory / "graphdbg" / "lib" / "libgraphdbg.so"
    library.unlink(missing_ok=True)
    shutil.copy(agent, library)
    return directory


@dataclass
class Script:
    """Runs Python programs under the staged package."""

    stage: Path
    directory: Path
    python: str = sys.executable
    variables: dict[str, str] = field(default_factory=dict)
    # See tests/quick_start.
    starts_quickly: bool = True
    runs: int = 0

    def environment(self, trace: Path, variables: dict[str, str]) -> dict[str, str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("GRAPHDBG_", "MS_DEBUGGER", "PYTHON"))}
        path = [self.stage, self.stage / "graphdbg" / "_inject"]
        if self.starts_quickly:
            path.append(QUICK_START)
        ours = {
            "PYTHONPATH": os.pathsep.join(map(str, path)),
            "GRAPHDBG_ENABLE": "1",
            "GRAPHDBG_TRACE_FILE": str(trace),
            "OMP_NUM_THREADS": "1",
        }
        return clean | ours | self.variables | variables

    def write(self, text: str) -> Path:
        file = self.directory / "train.py"
        file.write_text(textwrap.dedent(text))
        return file

    def start(self, text: str, *arguments: str, **variables: str) -> tuple[subprocess.Popen[str], Path]:
        self.runs += 1
        trace = self.directory / f"trace{self.runs}.jsonl"
        process = subprocess.Popen(
            [self.python, str(self.write(text)), *arguments],
            env=self.environment(trace, variables),
            cwd=self.directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # Tests that run in the background of a shell ignore interrupts, and
            # children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        return process, trace

    def finish(self, process: subprocess.Popen[str], trace: Path) -> Run:
        try:
            stdout, stderr = process.communicate(timeout=180)
        finally:
            process.kill()
        return Run(process.returncode, stdout, stderr, read_trace(trace))

    def __call__(self, text: str, *arguments: str, **variables: str) -> Run:
        return self.finish(*self.start(text, *arguments, **variables))


def read_trace(trace: Path) -> list[Json]:
    return [json.loads(line) for line in trace.read_text().splitlines()] if trace.exists() else []


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "newest_torch: needs a feature that the oldest supported PyTorch does not have")
    config.addinivalue_line("markers", "from_python: also runs with the adapter that is written in Python")


@functools.cache
def has_torch(python: str) -> bool:
    return subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0


@pytest.fixture(params=["newest", "oldest", "from_python"])
def variant(request: pytest.FixtureRequest) -> str:
    """Which PyTorch and which adapter scripts run with."""
    if request.param == "oldest" and not has_torch(SYSTEM_PYTHON):
        pytest.skip("the system's Python has no PyTorch")
    return str(request.param)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def wanted(item: pytest.Item) -> bool:
        call = getattr(item, "callspec", None)
        variant = call.params.get("variant") if call is not None else None
        if variant == "oldest":
            return item.get_closest_marker("newest_torch") is None
        return variant != "from_python" or item.get_closest_marker("from_python") is not None

    items[:] = filter(wanted, items)


@pytest.fixture
def script(stage: Path, tmp_path: Path, variant: str) -> Callable[..., Run]:
    python = SYSTEM_PYTHON if variant == "oldest" else sys.executable
    variables = {"GRAPHDBG_ADAPTER": "python"} if variant == "from_python" else {}
    return Script(stage, tmp_path, python, variables)
