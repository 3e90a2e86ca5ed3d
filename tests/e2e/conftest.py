"""Fixtures for the end-to-end tests, which run real programs, servers and jobs."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import graphdbg
import pytest
from environments import packages_with
from graphdbg.cli.client import Client

HOSTS = Path(__file__).resolve().parents[1] / "hosts"
GRAPHDBG = str(Path(sys.executable).parent / "graphdbg")
PACKAGE = Path(graphdbg.__file__).parent
PRELOAD = str(PACKAGE / "lib" / "libgraphdbg_preload.so")
# On Debian it has the oldest supported PyTorch.
SYSTEM_PYTHON = "/usr/bin/python3"
Json = dict[str, Any]
QUICK_START = str(HOSTS.parent / "quick_start")
# Holds what a program prints until a test reads it at its end: a program whose pipe is full blocks.
PIPE_BYTES = 1 << 20
# A run of some hundred rows takes no time, but plans, compilers and idle tasks do.
FOR_SMALL_RUNS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.driver.memory": "1g",
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--frameworks", action="store_true", help="also run the long tests, most of them of frameworks")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "oldest_torch: runs the system's Python with its PyTorch")
    config.addinivalue_line(
        "markers",
        "long(but=[]): runs with --frameworks only, except for cases whose names contain one of these texts",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--frameworks"):
        return
    long = [item for item in items if any(is_left_out(item, mark) for mark in item.iter_markers("long"))]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


def is_left_out(item: pytest.Item, long: pytest.Mark) -> bool:
    _, _, case = item.name.partition("[")
    return not any(text in case for text in long.kwargs.get("but", ()))


@pytest.fixture(autouse=True)
def runtime_dir(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the servers of this test list themselves, so that commands find no others."""
    directory = tmp_path_factory.mktemp("runtime")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(directory))
    return directory


@functools.cache
def has_torch(python: str) -> bool:
    return subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("oldest_torch") and not has_torch(SYSTEM_PYTHON):
        pytest.skip("the system's Python has no PyTorch")


@pytest.fixture
def injected() -> dict[str, str]:
    """The variables that load graphdbg into a Python that it is not installed in."""
    return {"PYTHONPATH": str(PACKAGE / "_inject")}


def clean_environment(**extra: str) -> dict[str, str]:
    """The environment without graphdbg's variables, plus the given ones, in which PyTorch starts quickly."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GRAPHDBG_", "MS_DEBUGGER"))}
    path = os.pathsep.join(filter(None, [extra.get("PYTHONPATH", kept.get("PYTHONPATH")), QUICK_START]))
    return kept | extra | {"PYTHONPATH": path}


def losses(output: str) -> list[str]:
    return re.findall(r"^step.*loss.*$", output, re.MULTILINE)


def marked_line(script: Path, mark: str = "# first bad value") -> int:
    """The number of the line that ends with the mark."""
    lines = [n for n, text in enumerate(script.read_text().splitlines(), 1) if text.endswith(mark)]
    assert len(lines) == 1, f"{script.name} has {len(lines)} lines marked '{mark}'"
    return lines[0]


def wait_until(what: str, condition: Callable[[], Any], seconds: float = 60) -> Any:
    """Polls until `condition` returns a true value, and returns that value."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    pytest.fail(f"timed out after {seconds:g} s: {what}")


def read_line(process: subprocess.Popen[str]) -> str:
    """Reads a line of the output, and no more, so that `communicate` returns what follows."""
    assert process.stdout is not None
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(process.stdout.fileno(), 1)
        assert byte, f"the output ends with {line!r}"
        line += byte
    return line.decode()


def run_together(processes: Sequence[tuple[list[str], dict[str, str]]], seconds: float = 300) -> list[int]:
    """Runs several processes, such as the ranks of a job, and returns their exit codes.

    Args:
        processes: The command and the environment of each.
        seconds: For all of them. Then they are killed, with what they have started.
    """
    deadline = time.monotonic() + seconds
    started: list[subprocess.Popen[bytes]] = []
    try:
        for command, environment in processes:
            started.append(subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, start_new_session=True))
        return [each.wait(max(0, deadline - time.monotonic())) for each in started]
    except BaseException:
        for each in started:
            kill_group(each)
        raise


def kill_group(process: subprocess.Popen[Any]) -> None:
    """Kills a process that leads a group, and everything in the group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class Finished:
    """A finished `graphdbg run`."""

    def __init__(self, process: subprocess.CompletedProcess[str], result: Json | None) -> None:
        self.code = process.returncode
        self.stdout = process.stdout
        self.stderr = process.stderr
        self.result: Json = result or {}


@pytest.fixture
def debug_run(tmp_path: Path) -> Callable[..., Finished]:
    """Runs `graphdbg run OPTIONS -- COMMAND` until it ends."""

    def run(*options: str, command: list[str], timeout: float = 600, **environment: str) -> Finished:
        file = tmp_path / "result.json"
        process = subprocess.run(
            [GRAPHDBG, "run", "--result", str(file), *options, "--", *command],
            env=clean_environment(**environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        return Finished(process, json.loads(file.read_text()) if file.exists() else None)

    return run


class Server:
    """A `graphdbg start` that serves one test."""

    def __init__(self, data_dir: Path, *options: str) -> None:
        self.data_dir = data_dir
        self.process = subprocess.Popen(
            [GRAPHDBG, "start", "--json", "--port=0", "--debugger-port=0", f"--data-dir={data_dir}", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=clean_environment(),
        )
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            assert self.process.stderr
            pytest.fail(f"the server did not start: {self.process.stderr.read()}")
        self.addresses: Json = json.loads(line)
        self.client = Client.from_data_dir(self.addresses["http_address"], data_dir)

    def job_environment(self, **extra: str) -> dict[str, str]:
        port = self.addresses["debugger_address"].rpartition(":")[2]
        token = str(self.data_dir / "agent_token")
        return clean_environment(GRAPHDBG_ENABLE="1", GRAPHDBG_PORT=port, GRAPHDBG_TOKEN_FILE=token, **extra)

    def job(self, job: str) -> Json | None:
        found = [j for j in self.client.get("/jobs")["jobs"] if j["id"] == job]
        return found[0] if found else None

    def wait_for_state(self, job: str, state: str, **fields: Any) -> Json:
        def reached() -> Json | None:
            found = self.job(job)
            matches = found and found["state"] == state and all(found[k] == v for k, v in fields.items())
            return found if matches else None

        found: Json = wait_until(f"job {job} {state} {fields or ''}", reached)
        return found

    def control(self, job: str, command: str, **body: Any) -> Json:
        return self.client.post(f"/jobs/{job}/control", {"command": command, **body})

    def recheck(self, job: str, node: str) -> Json:
        """Watches every value of a node of a paused job, has the watchpoint checked there, and returns its hit."""
        condition = {"id": "expression", "params": {"expression": "count > 0"}}
        watchpoint = self.client.post(f"/jobs/{job}/watchpoints", {"condition": condition, "nodes": [node]})["id"]
        self.control(job, "recheck")

        def hits() -> list[Json]:
            return [hit for hit in self.client.get(f"/jobs/{job}/hits")["hits"] if hit["watchpoint"] == watchpoint]

        (hit,) = wait_until(f"a hit of the recheck at {node}", hits)
        self.client.delete(f"/jobs/{job}/watchpoints/{watchpoint}")
        return hit

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.communicate(timeout=20)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "data")
    yield server
    server.stop()


@pytest.fixture
def start_job() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts job processes, and kills those that still run when the test ends."""
    processes: list[subprocess.Popen[str]] = []

    def start(command: list[str], environment: dict[str, str]) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            pipesize=PIPE_BYTES,
            # Tests that run in the background of a shell ignore interrupts, and
            # children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def onnx_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The models of hosts/onnx/make_models.py, generated once for all test processes."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    with open(shared / "onnx_models.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = shared / "onnx_models"
        if not folder.exists():
            made = shared / "onnx_models.part"
            made.mkdir()
            script = [sys.executable, "-W", "ignore", str(HOSTS / "onnx" / "make_models.py"), str(made)]
            subprocess.run(script, env=clean_environment(), check=True, capture_output=True, timeout=300)
            made.rename(folder)
    return folder


@pytest.fixture(scope="module")
def packages() -> str:
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    return packages_with("scale")


@pytest.fixture(scope="module")
def spark(packages: str) -> Iterator[Any]:
    sys.path.append(packages)
    before = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    for name, value in FOR_SMALL_RUNS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()
    sys.path.remove(packages)
    if before is None:
        del os.environ["PYSPARK_PYTHON"]
    else:
        os.environ["PYSPARK_PYTHON"] = before
