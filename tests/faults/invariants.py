"""Conditions that must hold after every cell, whatever went wrong in between."""

from __future__ import annotations

import contextlib
import socket
import time

from cell import Cell
from graphdbg.cli.client import ApiError
from graphdbg.cli.errors import CliError
from processes import JOB, CellFailure, losses, wait_until

_END_SECONDS = 120
_ENDED = ("finished", "terminated", "lost")


def bring_to_end(cell: Cell) -> None:
    """Continues the job, as its user would, until it has ended."""
    assert cell.job
    deadline = time.monotonic() + _END_SECONDS
    while cell.job.poll() is None:
        if time.monotonic() > deadline:
            raise CellFailure(f"training hangs; the job's last words: {cell.job.err.read_text()[-300:].strip()!r}")
        with contextlib.suppress(ApiError, CliError, OSError):
            job = cell.server.job()
            if job and job["state"] == "paused":
                cell.server.control("continue")
        cell.job.wait(0.2)


def check(cell: Cell, undisturbed: list[str]) -> int:
    """Raises CellFailure for the first promise that was not kept; returns the number of lost items."""
    _check_training(cell, undisturbed)
    lost = _check_server(cell)
    _check_nothing_left(cell)
    return lost


def _check_training(cell: Cell, undisturbed: list[str]) -> None:
    assert cell.job
    printed = losses(cell.job.out.read_text())
    if printed != undisturbed[: len(printed)]:
        raise CellFailure("losses differ from the undisturbed run")
    if cell.job_was_killed or cell.terminate_was_sent:
        return
    code = cell.job.poll()
    if code != 0:
        raise CellFailure(f"training ended with {code}: {cell.job.err.read_text()[-300:].strip()!r}")
    if len(printed) != cell.steps:
        raise CellFailure(f"training ended after {len(printed)} of {cell.steps} steps")


def _check_server(cell: Cell) -> int:
    if cell.server.process.poll() is not None:
        raise CellFailure(f"the server has ended: {cell.server.process.err.read_text()[-300:].strip()!r}")
    wait_until("the server answers", lambda: cell.server.client.get("/server"), 15)
    job = wait_until("the server answers", lambda: cell.server.client.get("/jobs")["jobs"], 5) if cell.hits else None
    acknowledged = len(cell.watchpoints) + len(cell.hits)
    if acknowledged and not job:
        raise CellFailure(f"the job is gone, and with it {acknowledged} acknowledged items")
    if not acknowledged:
        return 0
    # A rank that does not come back after a restart is lost after 30 s.
    cell.server.wait_for_state(*_ENDED, seconds=60)
    # Data that is only in the server's memory is lost.
    cell.server.kill()
    cell.server.start()
    cell.server.wait_for_state(*_ENDED, seconds=60)
    kept = {w["id"] for w in cell.server.client.get(f"/jobs/{JOB}/watchpoints")["watchpoints"]}
    hits = {hit["id"] for hit in cell.server.client.hits(JOB)}
    lost = len(cell.watchpoints - kept) + len(cell.hits - hits)
    if lost:
        raise CellFailure(f"{lost} of {acknowledged} acknowledged items are lost")
    return lost


def _check_nothing_left(cell: Cell) -> None:
    if cell.job and cell.job.left_children():
        raise CellFailure("processes of the job are left")
    code = cell.server.stop()
    if code != 0:
        raise CellFailure(f"the server ended with {code}: {cell.server.process.err.read_text()[-300:].strip()!r}")
    if cell.server.process.left_children():
        raise CellFailure("processes of the server are left")
    for port in (cell.server.http_port, cell.server.debugger_port):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=2):
            raise CellFailure(f"port {port} is still open")
    # PyTorch's own cache stays for its next process.
    if left := sorted(p.name for p in cell.temporary.iterdir() if not p.name.startswith("torchinductor_")):
        raise CellFailure(f"temporary files are left: {', '.join(left)}")
