"""Forks children from a training process while it is debugged, and counts those that hang.

    python tests/faults/fork_storm.py [--forks 10000]

A small model trains in the main thread, on batches of DataLoader workers, which are
forked too and start anew with each epoch. Another thread forks children, half of which
use PyTorch before they exit. A watchpoint is set on everything,
and the job is paused and continued all the time, so that forks meet the agent's locks in
every state.

Runs the job with `graphdbg run`'s server and prints one line of JSON:
forks, children that hung or failed, steps, and whether the losses are those of a run
without the debugger. Exits with 1 if a child hung or failed, or a loss differs.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

# A child that takes longer is killed by its own alarm.
_CHILD_SECONDS = 60


def _uses_pytorch() -> bool:
    import torch

    return float((torch.ones(4) * 2).sum()) == 8


def _fork_one(number: int) -> bool:
    """Forks a child and returns whether it ended well."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(_CHILD_SECONDS)
        # Not through exit handlers: those of multiprocessing would end the loaders of
        # the parent. The loaders themselves end through them.
        os._exit(0 if number % 2 or _uses_pytorch() else 1)
    return os.waitpid(pid, 0)[1] == 0


def _forks(count: int) -> int:
    """Forks in rapid succession. Returns the number of children that hung or failed."""
    return sum(not _fork_one(number) for number in range(count))


def _train(forks: int, report: Path) -> None:
    """The debugged program: trains until all forks are done, at least 20 steps."""
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = TensorDataset(torch.randn(64, 8), torch.randn(64, 1))
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    bad = 0
    losses: list[str] = []

    def storm() -> None:
        nonlocal bad
        bad = _forks(forks)

    thread = threading.Thread(target=storm)
    started = False
    while not started or thread.is_alive() or len(losses) < 20:
        for inputs, targets in DataLoader(data, batch_size=16, num_workers=2):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()).hex())
            if not started:
                started = True
                thread.start()
    thread.join()
    report.write_text(json.dumps({"bad": bad, "losses": losses}))


def _environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith(("GRAPHDBG_", "MS_DEBUGGER"))}


class _Meddler:
    """Pauses and continues the job until it ends."""

    def __init__(self, server: object) -> None:
        from graphdbg.cli.client import ApiError
        from graphdbg.cli.errors import CliError

        self._errors = (ApiError, CliError)
        self._client = server.client  # type: ignore[attr-defined]
        self._stop = threading.Event()
        self.pauses = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        watched = False
        while not self._stop.wait(0.1):
            try:
                job = self._client.get("/jobs/storm")
                if not watched:
                    watched = True
                    body = {"condition": {"id": "nan"}, "pause": "none"}
                    self._client.post("/jobs/storm/watchpoints", body)
                command = "continue" if job["state"] == "paused" else "pause"
                self._client.post("/jobs/storm/control", {"command": command})
                self.pauses += command == "pause"
            except self._errors:
                continue

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()


def _debugged(forks: int, report: Path) -> int:
    """Runs the program under the debugger. Returns how often it was paused."""
    from graphdbg.cli.server_process import ServerProcess

    with tempfile.TemporaryDirectory() as directory:
        server = ServerProcess(Path(directory))
        meddler = _Meddler(server)
        host, _, port = server.debugger_address.rpartition(":")
        variables = {
            "GRAPHDBG_ENABLE": "1",
            "GRAPHDBG_HOST": host,
            "GRAPHDBG_PORT": port,
            "GRAPHDBG_JOB": "storm",
            "GRAPHDBG_TOKEN_FILE": str(Path(directory) / "agent_token"),
        }
        command = [sys.executable, __file__, "--train", str(report), "--forks", str(forks)]
        try:
            subprocess.run(command, env=_environment() | variables, check=True)
        finally:
            meddler.stop()
            server.stop()
        return meddler.pauses


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--forks", type=int, default=300, help="number of forks (default: %(default)s)")
    parser.add_argument("--train", type=Path, metavar="FILE", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.train:
        _train(arguments.forks, arguments.train)
        return 0
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        report, plain = Path(directory) / "debugged", Path(directory) / "plain"
        pauses = _debugged(arguments.forks, report)
        debugged = json.loads(report.read_text())
        subprocess.run(
            [sys.executable, __file__, "--train", str(plain), "--forks", "0"], env=_environment(), check=True
        )
        expected = json.loads(plain.read_text())["losses"]
    common = min(len(expected), len(debugged["losses"]))
    same = debugged["losses"][:common] == expected[:common]
    result = {
        "forks": arguments.forks,
        "bad": debugged["bad"],
        "steps": len(debugged["losses"]),
        "pauses": pauses,
        "same_losses": same,
        "seconds": round(time.monotonic() - began, 1),
    }
    print(json.dumps(result))
    return 0 if debugged["bad"] == 0 and same else 1


if __name__ == "__main__":
    sys.exit(main())
