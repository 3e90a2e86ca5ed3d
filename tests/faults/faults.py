"""F1 to F20: what goes wrong. A fault strikes at a moment and is then healed."""

from __future__ import annotations

import abc
import contextlib
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from cell import Cell
from graphdbg.cli.client import ApiError
from graphdbg.cli.errors import CliError
from processes import JOB, Process, wait_until
from proxy import BOTH, DOWN, UP

ALL_MOMENTS = ("M1", "M2", "M3", "M4", "M5", "M6", "M7", "M8")


class Fault(Protocol):
    id = ""
    name = ""
    # Only in the long form of the matrix.
    slow = False
    # Moments at which the fault cannot occur, with the reason.
    not_applicable: Mapping[str, str] = MappingProxyType({})

    def why_not_here(self) -> str:
        """Why this machine cannot make the fault; empty if it can."""
        return ""

    def prepare(self, cell: Cell) -> None:
        """Before any process starts."""

    @abc.abstractmethod
    def strike(self, cell: Cell) -> None:
        """Makes the fault, at the moment that the cell has reached."""

    def heal(self, cell: Cell) -> None:
        """Ends the fault."""

    def clean_up(self, cell: Cell) -> None:
        """After all processes have ended."""


def job_of(cell: Cell) -> Process:
    assert cell.job
    return cell.job


class KillJob(Fault):
    id, name = "F1", "kill -9 of the job"

    def strike(self, cell: Cell) -> None:
        cell.job_was_killed = True
        job_of(cell).send(signal.SIGKILL)


class KillServer(Fault):
    id, name = "F2", "kill -9 of the server"

    def strike(self, cell: Cell) -> None:
        cell.server.kill()

    def heal(self, cell: Cell) -> None:
        cell.server.start()


class KillBoth(Fault):
    id, name = "F3", "kill -9 of both"

    def strike(self, cell: Cell) -> None:
        cell.job_was_killed = True
        cell.server.kill()
        job_of(cell).send(signal.SIGKILL)

    def heal(self, cell: Cell) -> None:
        cell.server.start()


class Freeze(Fault):
    """SIGSTOP, and SIGCONT later."""

    def __init__(self, number: str, who: str, seconds: float) -> None:
        self.id, self.name = number, f"{who} frozen for {seconds:g} s"
        self.slow = seconds > 5
        self._who, self._seconds = who, seconds

    def strike(self, cell: Cell) -> None:
        process = job_of(cell) if self._who == "job" else cell.server.process
        process.send(signal.SIGSTOP)
        time.sleep(self._seconds)
        process.send(signal.SIGCONT)


class BlackHole(Fault):
    def __init__(self, directions: tuple[str, ...], what: str, seconds: float) -> None:
        self.id, self.name = "F6", f"black hole {what} for {seconds:g} s"
        self.slow = seconds > 5
        self._directions, self._seconds = directions, seconds

    def strike(self, cell: Cell) -> None:
        cell.proxy.hold(*self._directions)
        time.sleep(self._seconds)


class Delay(Fault):
    id, name = "F7", "500 ms of delay each way"

    def strike(self, cell: Cell) -> None:
        cell.proxy.delay(0.5)
        time.sleep(3)


class Reset(Fault):
    id, name = "F8", "connection reset"

    def strike(self, cell: Cell) -> None:
        cell.proxy.reset()


class SlowReader(Fault):
    id, name = "F9", "peers read 1 KiB/s"

    def strike(self, cell: Cell) -> None:
        cell.proxy.throttle(1024, *BOTH)
        time.sleep(3)


class ViewerVanishes(Fault):
    id, name = "F10", "viewers close without reading"

    def strike(self, cell: Cell) -> None:
        token = (cell.server.data / "token").read_text().strip()
        for target in ("/api/v1/jobs", f"/api/v1/jobs/{JOB}/tensor/download?name=forward%2F0%2Fweight%3A0&format=npy"):
            for _ in range(10):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", cell.server.http_port)) as s:
                    s.sendall(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{cell.server.http_port}\r\n".encode())
                    s.sendall(f"Authorization: Bearer {token}\r\n\r\n".encode())


class FullDisk(Fault):
    """A file system of 8 MiB that another program fills."""

    id, name = "F11", "disk full, then freed"

    def why_not_here(self) -> str:
        return "" if os.geteuid() == 0 and shutil.which("mount") else "needs root to mount a small file system"

    def prepare(self, cell: Cell) -> None:
        self._mounted = cell.directory / "small"
        self._mounted.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(self._mounted)], check=True)
        cell.data = self._mounted / "data"

    def strike(self, cell: Cell) -> None:
        with contextlib.suppress(OSError), (self._mounted / "filler").open("wb", buffering=0) as filler:
            while filler.write(b"\0" * 65536):
                pass
        time.sleep(1)

    def heal(self, cell: Cell) -> None:
        (self._mounted / "filler").unlink()
        wait_until("the server is ready again", lambda: cell.server.client.get("/server"))

    def clean_up(self, cell: Cell) -> None:
        subprocess.run(["umount", str(self._mounted)], check=True)


class NoDescriptors(Fault):
    id, name = "F14", "the server is out of descriptors"

    def strike(self, cell: Cell) -> None:
        pid = cell.server.process.pid
        in_use = len(os.listdir(f"/proc/{pid}/fd"))
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (in_use, before[1]))
        waiting = []
        for _ in range(20):
            with contextlib.suppress(OSError):
                waiting.append(socket.create_connection(("127.0.0.1", cell.server.http_port), timeout=1))
        time.sleep(1)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        for each in waiting:
            each.close()


class ClockJumps(Fault):
    """libfaketime reads the offset from a file."""

    id, name = "F15", "wall clock one hour back, then forward"
    _library = next((str(p) for p in Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), "")

    def why_not_here(self) -> str:
        return "" if self._library else "libfaketime is not installed"

    def prepare(self, cell: Cell) -> None:
        self._offset = cell.directory / "offset"
        self._offset.write_text("+0")
        variables = {
            "LD_PRELOAD": self._library,
            "FAKETIME_TIMESTAMP_FILE": str(self._offset),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        cell.server_environment |= variables
        cell.job_environment |= variables

    def strike(self, cell: Cell) -> None:
        for offset in ("-3600", "+3600"):
            self._offset.write_text(offset)
            cell.proxy.reset()
            time.sleep(1)


class ForkStorm(Fault):
    id, name = "F16", "the job forks 40 children"
    not_applicable = MappingProxyType(
        {"M1": "the job's own code has not begun", "M8": "the job's threads end with it"},
    )

    def prepare(self, cell: Cell) -> None:
        self._trigger = cell.directory / "fork"
        cell.job_options = [f"--fork-when={self._trigger}"]

    def strike(self, cell: Cell) -> None:
        self._trigger.touch()
        wait_until("the children have ended", self._trigger.with_suffix(".done").exists)


class Duplicates(Fault):
    id, name = "F17", "commands arrive three times, and late"
    not_applicable = MappingProxyType({"M1": "there is no job to command yet"})

    def strike(self, cell: Cell) -> None:
        cell.proxy.delay(0.2)

        def command() -> None:
            with contextlib.suppress(ApiError, CliError, OSError):
                cell.server.control("terminate" if cell.terminate_was_sent else "step", steps=1)

        threads = [threading.Thread(target=command) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


class Garbage(Fault):
    id, name = "F18", "strangers send garbage to all ports"

    def strike(self, cell: Cell) -> None:
        noise = random.Random(cell.seed)
        starts = (b"", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET / HTTP/9.9\r\n", b"\x16\x03\x01")
        for port in (cell.server.http_port, cell.server.debugger_port):
            for start in starts * 5:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as stranger:
                    stranger.sendall(start + noise.randbytes(noise.randrange(2000)))


class NextBuild(Fault):
    id, name = "F20", "orderly restart into the next build"

    def strike(self, cell: Cell) -> None:
        cell.server.stop()

    def heal(self, cell: Cell) -> None:
        cell.server.start()


class Unavailable(Fault):
    """A fault that other tests make."""

    def __init__(self, number: str, name: str, reason: str) -> None:
        self.id, self.name = number, name
        self.not_applicable = dict.fromkeys(ALL_MOMENTS, reason)

    def strike(self, cell: Cell) -> None:
        raise AssertionError(self.name)


FAULTS: tuple[Fault, ...] = (
    KillJob(),
    KillServer(),
    KillBoth(),
    Freeze("F4", "job", 1),
    Freeze("F4", "job", 20),
    Freeze("F5", "server", 1),
    Freeze("F5", "server", 20),
    BlackHole(BOTH, "both ways", 3),
    BlackHole(BOTH, "both ways", 20),
    BlackHole((UP,), "to the server", 3),
    BlackHole((DOWN,), "to the job", 3),
    Delay(),
    Reset(),
    SlowReader(),
    ViewerVanishes(),
    FullDisk(),
    Unavailable("F12", "I/O errors and short writes", "made inside the process: //server/store/..."),
    Unavailable("F13", "failed allocations", "the memory budget refuses before: //server/..."),
    NoDescriptors(),
    ClockJumps(),
    ForkStorm(),
    Duplicates(),
    Garbage(),
    Unavailable(
        "F19", "expired tokens and certificates", "made inside the process: //server/auth/..., //server/http/..."
    ),
    NextBuild(),
)

if sys.platform != "linux":
    raise SystemExit("the fault matrix needs Linux")
