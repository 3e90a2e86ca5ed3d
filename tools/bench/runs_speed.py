"""How fast the server answers about a recorded run of 8 ranks, 1,000 steps and 3,000 ops.

The run has 24 million records in 3.8 GB, which `write_run` writes first. Times are those
of a client on this machine, with the files in the page cache; `open` includes what the
page requests before it shows the run.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Goals for recorded runs, in seconds.
LIMITS = {"open": 1.0, "step": 0.05, "history": 0.1, "check": 2.0}
RUN = "bench"
CHECK_POLL_SECONDS = 0.02


class Api:
    def __init__(self, address: str) -> None:
        self._base = f"{address}/api/v1/runs"

    def get(self, path: str = "") -> bytes:
        with urllib.request.urlopen(f"{self._base}{path}") as response:
            content: bytes = response.read()
            return content

    def time(self, path: str) -> float:
        """The seconds until the whole answer has arrived."""
        return seconds(lambda: self.get(path))

    def send(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self._base}{path}", data, headers, method=method)
        with urllib.request.urlopen(request) as response:
            content = response.read()
        return json.loads(content) if content else None


@contextlib.contextmanager
def server(program: str, run: Path) -> Iterator[Api]:
    with tempfile.TemporaryDirectory() as data_dir:
        command = [program, "--json", "--no-auth", "--port=0", "--debugger-port=0"]
        process = subprocess.Popen(
            [*command, f"--data-dir={data_dir}", f"--runs={run}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert process.stdout
            yield Api(json.loads(process.stdout.readline())["http_address"])
        finally:
            process.terminate()
            process.wait()


def seconds(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def open_page(api: Api) -> None:
    """The requests of the page before it shows the run at its last step."""
    api.get(f"/{RUN}")
    api.get(f"/{RUN}/graph/index")
    api.get(f"/{RUN}/steps?rank=0&limit=10000")
    api.get(f"/{RUN}/hits?limit=1000")
    api.get(f"/{RUN}/collections")
    api.get(f"/{RUN}/tensor/history?name=forward/op1:0&points=600")


def check(api: Api) -> None:
    condition = {"id": "expression", "params": {"expression": "abs_max > 40 && step > 100"}}
    started = api.send("POST", f"/{RUN}/checks", {"watchpoint": {"condition": condition}})
    path = f"/{RUN}/checks/{started['check_id']}"
    while (report := json.loads(api.get(path)))["state"] == "running":
        time.sleep(CHECK_POLL_SECONDS)
    assert report["done"] == report["total"], report
    api.send("DELETE", path)


def measure(program: str, run: Path, steps: int, rounds: int) -> dict[str, float]:
    figures: dict[str, list[float]] = {name: [] for name in LIMITS}
    random.seed(1)
    for _ in range(rounds):
        with server(program, run) as api:
            figures["open"].append(seconds(lambda: open_page(api)))
            for _ in range(20):
                step = random.randint(1, steps)
                figures["step"].append(api.time(f"/{RUN}/tensors?node=forward/op7&rank=3&step={step}"))
                figures["step"].append(api.time(f"/{RUN}/statistics?rank=3&step={step}"))
                op = random.randint(1, 1000)
                figures["history"].append(api.time(f"/{RUN}/tensor/history?name=forward/op{op}:0&rank=5"))
            figures["check"].append(seconds(lambda: check(api)))
    return {name: statistics.median(values) for name, values in figures.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=Path, required=True, help="folder of write_run")
    parser.add_argument("--server", required=True, help="the server's program")
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--ops", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the run is written (default: a temporary folder)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        run = Path(folder) / RUN
        size = [str(arguments.ranks), str(arguments.steps), str(arguments.ops)]
        subprocess.run([str(arguments.programs / "write_run"), str(run), *size], check=True)
        figures = measure(arguments.server, run, arguments.steps, arguments.rounds)
    for name, value in figures.items():
        print(f"{name:10}{1e3 * value:9.1f} ms   limit {1e3 * LIMITS[name]:.0f} ms")
    return 0 if all(figures[name] <= limit for name, limit in LIMITS.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
