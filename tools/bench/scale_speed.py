"""One job of many ranks on one server: how long commands take, and what the server uses.

rank_scale scripts ranks of one job that step together, 10 times a second, each with the
same graph, while pages watch. It pauses, steps, hits and, at last, restarts the server
while all ranks are paused. Each figure stands beside its target for 1,024 ranks.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

# The figures of the design for 1,024 ranks; the page's rate and its lag are those of one page.
TARGETS = {
    "told_s": 3.0,
    "cores": 1.0,
    "steps_per_s": None,
    "page_mib_per_s": 1.0,
    "lag_p99_s": 0.5,
    "list_p99_s": 0.2,
    "pause_s": 1.0,
    "pause_later_s": 1.0,
    "step_s": 1.0,
    "hit_s": 1.0,
    "hits_of_all_s": None,
    "rss_mib": 325.0,
    "descriptors": None,
    "database_mib": 5.0,
    "ready_s": None,
    "back_s": 5.0,
    "moved_by_restart": 0.0,
}
MIB = 1 << 20


class Server:
    """A server on ports that stay the same over a restart."""

    def __init__(self, program: Path, data_dir: Path) -> None:
        self.port, self._agents = _free_ports()
        self.agents = f"127.0.0.1:{self._agents}"
        self._program = program
        self._data_dir = data_dir
        self.process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        ports = [f"--port={self.port}", f"--debugger-port={self._agents}"]
        process = subprocess.Popen(
            [self._program, "--json", "--no-auth", *ports, f"--data-dir={self._data_dir}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdout
        if not process.stdout.readline():
            sys.exit("the server did not start")
        return process

    def restart(self) -> float:
        """Kills the server and starts it again. Returns the seconds until it listens."""
        self.process.kill()
        self.process.wait()
        start = time.perf_counter()
        self.process = self._start()
        return time.perf_counter() - start

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()

    def usage(self) -> dict[str, float]:
        process = Path(f"/proc/{self.process.pid}")
        (peak,) = [line for line in (process / "status").read_text().splitlines() if line.startswith("VmHWM")]
        stored = sum(file.stat().st_size for file in self._data_dir.rglob("*") if file.is_file())
        return {
            "rss_mib": int(peak.split()[1]) / 1024,
            "descriptors": len(os.listdir(process / "fd")),
            "database_mib": stored / MIB,
        }


def _free_ports() -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    ports: list[int] = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def measure(args: argparse.Namespace, ranks: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        server = Server(args.server, Path(folder))
        where = ["--http-port", str(server.port), "--agents", server.agents, "--pid", str(server.process.pid)]
        load = subprocess.Popen(
            [args.program, *where, "--ranks", str(ranks), "--nodes", str(args.nodes), "--seconds", str(args.seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert load.stdin and load.stdout
        result: dict[str, Any] = {}
        for line in load.stdout:
            if line.strip() == "restart":
                result |= server.usage()
                result["ready_s"] = server.restart()
                load.stdin.write("restarted\n")
                load.stdin.flush()
            else:
                result |= json.loads(line)
        server.stop()
        if load.wait() != 0:
            sys.exit("the measurement failed")
        return result


def _print(results: dict[int, dict[str, Any]]) -> None:
    print(f"{'ranks':18}" + "".join(f"{ranks:>10}" for ranks in results) + f"{'target':>10}")
    for name, target in TARGETS.items():
        values = "".join(f"{result.get(name, float('nan')):10.2f}" for result in results.values())
        print(f"{name:18}{values}{'' if target is None else f'{target:10.2f}'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, required=True, help="rank_scale")
    parser.add_argument("--server", type=Path, required=True, help="graphdbg_server")
    parser.add_argument("--ranks", type=int, nargs="+", default=[8, 64, 256, 1024], help="numbers of ranks")
    parser.add_argument("--nodes", type=int, default=3_000, help="nodes in the graph of each rank")
    parser.add_argument("--seconds", type=int, default=4, help="how long it runs before it is measured")
    args = parser.parse_args()
    _print({ranks: measure(args, ranks) for ranks in args.ranks})


if __name__ == "__main__":
    main()
