"""How fast the terminal debugger, its engine and the adapter for editors answer, beside their goals.

The adapter as it starts, a small PyTorch job for what looks and moves, the page's job of 10,000 ops for `finish` over
all of them, and a synthetic graph of 100,000 nodes for completion. Times are those of the engine, with the server and
the job on this machine; a terminal or an editor adds its own. Prints a table; `--json` a JSON object.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from graphdbg.cli.dbg.opened import launched
from graphdbg.cli.debugger import Session, attach
from graphdbg.cli.debugger.completion import complete_nodes
from graphdbg.cli.server_process import ServerProcess

HERE = Path(__file__).resolve().parent
SMALL_JOB = HERE.parents[1] / "tests" / "hosts" / "digits_cnn.py"
# What a stop in an editor asks for.
LOOKS: dict[str, Callable[[Session], object]] = {
    "frames": lambda session: session.frames(),
    "evaluate a statistic": lambda session: session.evaluate("$.abs_max"),
    "evaluate a tensor": lambda session: session.evaluate("in0"),
    "evaluate a slice": lambda session: session.evaluate("$[0,0:4]"),
    "breakpoints": lambda session: session.breakpoints.list(),
    "children of a tensor": lambda session: session.evaluate("$").tensor.children(0, 100),  # type: ignore[union-attr]
}


@dataclass(frozen=True)
class Figure:
    """Milliseconds: the 95th percentile, the median, and the goal for the former; the number of measurements."""

    name: str
    p95: float
    median: float
    goal: float
    count: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=200, help="measurements of each figure (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    figures = [*adapter_start(), *small_job(arguments.repeat), *long_scope(), *large_graph(arguments.repeat)]
    if arguments.json:
        print(json.dumps([asdict(figure) for figure in figures], indent=2))
        return
    print(f"{'ms':32} {'p95':>8} {'median':>8} {'goal':>8} {'count':>6}")
    for each in figures:
        print(f"{each.name:32} {each.p95:8.2f} {each.median:8.2f} {each.goal:8.0f} {each.count:6}")


def adapter_start() -> Iterator[Figure]:
    """From the start of `graphdbg dap` to its answer to `initialize`, with the start of Python and of the server."""
    content = json.dumps(
        {"seq": 1, "type": "request", "command": "initialize", "arguments": {"adapterID": "graphdbg"}}
    ).encode()
    times = sorted(timed_start(b"Content-Length: %d\r\n\r\n%s" % (len(content), content)) for _ in range(10))
    yield Figure("dap: initialize", times[-1], statistics.median(times), 300, len(times))


def timed_start(request: bytes) -> float:
    begin = time.perf_counter()
    command = [sys.executable, "-m", "graphdbg.cli.main", "dap"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as adapter:
        assert adapter.stdin is not None and adapter.stdout is not None
        adapter.stdin.write(request)
        adapter.stdin.flush()
        adapter.stdout.readline()
        taken = (time.perf_counter() - begin) * 1e3
        adapter.stdin.close()
    return taken


def small_job(repeat: int) -> Iterator[Figure]:
    with quiet(), launched([sys.executable, str(SMALL_JOB), "--steps=100000"], {}) as session:
        session.step()
        session.wait()
        session.until("forward/fc1/addmm")
        session.wait()
        for name, look in LOOKS.items():
            yield figure(f"look: {name}", repeat, 20, lambda look=look: look(session))
        yield figure("stepi to stopped", repeat, 20, lambda: moved(session, session.step_node))
        yield figure("step to stopped", repeat // 4, 20, lambda: moved(session, session.step))
        session.terminate()
        session.wait()


def long_scope() -> Iterator[Figure]:
    """`finish` leaves a scope of 10,000 ops; what these take alone is what `step` takes."""
    with quiet(), launched([sys.executable, str(HERE / "page_job.py")], {}) as session:
        # The job learns its ops in the first step, and takes memory for the values that it keeps in the next ones.
        session.step(3)
        session.wait()
        times = []
        plain = []
        for _ in range(5):
            session.until("forward/neg")
            session.wait()
            times.append(timed(lambda: moved(session, session.finish)))
            plain.append(timed(lambda: moved(session, session.step)))
        nodes = statistics.median(plain)
        yield Figure("stepOut over 10,000 nodes", max(times), statistics.median(times), 50 + nodes, len(times))
        session.terminate()
        session.wait()


def large_graph(repeat: int) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        server = ServerProcess(Path(folder), temporary=True)
        job = start_synthetic(server, Path(folder))
        try:
            session = attach(server.client, server.client.get("/jobs")["jobs"][0]["id"])
            first = timed(session.graph_index)
            index = session.graph_index()
            scope = index.name(index.execution[len(index.execution) // 2]).rpartition("/")[0]
            yield Figure(f"graph of {index.node_count:,} nodes, read", first, first, 1000, 1)
            yield Figure("completion, the first", *[timed(lambda: complete_nodes(index, scope + "/"))] * 2, 50, 1)
            yield figure("completion in 100,000 nodes", repeat, 50, lambda: session.complete_nodes(f"{scope}/"))
            yield figure("nearest names", max(1, repeat // 50), 1000, lambda: index.nearest(f"{scope}/matmull"))
            session.close()
        finally:
            job.terminate()
            job.wait()
            server.stop()


def start_synthetic(server: ServerProcess, folder: Path) -> subprocess.Popen[str]:
    host, _, port = server.debugger_address.rpartition(":")
    variables = {
        "GRAPHDBG_ENABLE": "1",
        "GRAPHDBG_HOST": host,
        "GRAPHDBG_PORT": port,
        "GRAPHDBG_TOKEN_FILE": str(folder / "agent_token"),
        "GRAPHDBG_WAIT": "0",
    }
    command = [sys.executable, str(HERE / "synthetic_job.py"), "100k"]
    job = subprocess.Popen(command, env={**os.environ, **variables}, stdout=subprocess.PIPE, text=True)
    assert job.stdout is not None
    while "ready" not in job.stdout.readline():
        if job.poll() is not None:
            raise SystemExit("the synthetic job did not start")
    return job


def moved(session: Session, order: Callable[[], None]) -> None:
    order()
    session.wait()


def timed(action: Callable[[], object]) -> float:
    """Milliseconds."""
    begin = time.perf_counter()
    action()
    return (time.perf_counter() - begin) * 1e3


def figure(name: str, repeat: int, goal: float, action: Callable[[], object]) -> Figure:
    # The first one opens connections and reads the graph.
    action()
    times = sorted(timed(action) for _ in range(repeat))
    return Figure(name, times[int(0.95 * (len(times) - 1))], statistics.median(times), goal, len(times))


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without the output of jobs, which is copied to ours."""
    with open("/dev/null", "w") as nowhere, contextlib.redirect_stdout(nowhere):
        yield


if __name__ == "__main__":
    main()
