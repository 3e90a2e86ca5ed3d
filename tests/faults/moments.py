"""M1 to M8: brings a cell to the moment at which its fault strikes."""

from __future__ import annotations

from collections.abc import Callable

from cell import ALWAYS, NEVER, Cell
from graphdbg.cli.client import ApiError
from processes import JOB, wait_until
from proxy import DOWN, UP


def handshake(cell: Cell) -> None:
    cell.start_job()
    wait_until("the job connects", lambda: cell.proxy.forwarded[UP] > 0)


def graph_upload(cell: Cell) -> None:
    """The first step, in which the graph becomes known."""
    cell.run_until_paused_at(0)
    before = cell.proxy.forwarded[UP]
    cell.server.control("continue")
    wait_until("the graph is on its way", lambda: cell.proxy.forwarded[UP] > before)


def streaming(cell: Cell) -> None:
    cell.run_until_paused_at(0)
    cell.watch(ALWAYS)
    cell.server.control("continue")
    wait_until("hits arrive", lambda: cell.see_hits() >= 5)


def paused(cell: Cell) -> None:
    cell.run_until_paused_at(0)
    cell.watch(ALWAYS)
    cell.server.control("step", steps=3)
    wait_until("the job stops", lambda: (cell.server.job() or {}).get("step") == 3)
    cell.server.wait_for_state("paused")
    cell.see_hits()


def command_sent(cell: Cell) -> None:
    """The server has taken a command that has not reached the job."""
    paused(cell)
    cell.proxy.hold(DOWN)
    cell.server.control("step", steps=2)


def tensor_transfer(cell: Cell) -> None:
    paused(cell)
    cell.proxy.throttle(64 << 10, UP)
    before = cell.proxy.forwarded[UP]
    client, name = cell.server.client, "forward/0/weight:0"
    cell.in_background(lambda: client.download(f"/jobs/{JOB}/tensor/download", name=name, format="npy"))
    wait_until("the tensor is on its way", lambda: cell.proxy.forwarded[UP] > before)


def recording(cell: Cell) -> None:
    """Watchpoints are set one after the other, each of which is acknowledged when it is kept."""
    paused(cell)

    def set_watchpoints() -> None:
        for _ in range(300):
            if cell.activity_ends.is_set():
                return
            try:
                cell.watch(NEVER)
            except ApiError as refused:
                # Data that the server reported as not kept may be lost.
                if refused.status < 500:
                    raise

    before = len(cell.watchpoints)
    cell.in_background(set_watchpoints)
    wait_until("watchpoints are kept", lambda: len(cell.watchpoints) >= before + 5)


def stopping(cell: Cell) -> None:
    cell.run_until_paused_at(3)
    cell.terminate_was_sent = True
    cell.server.control("terminate")


MOMENTS: dict[str, tuple[str, Callable[[Cell], None]]] = {
    "M1": ("handshake", handshake),
    "M2": ("graph upload", graph_upload),
    "M3": ("streaming", streaming),
    "M4": ("paused", paused),
    "M5": ("command sent", command_sent),
    "M6": ("mid tensor", tensor_transfer),
    "M7": ("recording", recording),
    "M8": ("stopping", stopping),
}
