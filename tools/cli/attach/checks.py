"""Why a process cannot be attached to, before anything is changed in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .errors import CannotAttachError
from .injection import inspect
from .processes import LAUNCHERS, Process, children
from .torch_version import minor, torch_version

PACKAGE = Path(__file__).resolve().parents[2]
_ADAPTER = "libgraphdbg_torch.so"
# The oldest interpreter that runs the package.
_OLDEST = (3, 10)
_OFF = ("0", "false")


@dataclass(frozen=True)
class Target:
    """A process that may be attached to.

    Attributes:
        python: The version of its interpreter, such as "3.11".
        torch: The version of its PyTorch, such as "2.13.0+cpu".
        ships_adapter: The package contains an adapter for that version.
    """

    process: Process
    python: str
    torch: str
    ships_adapter: bool


def check(pid: int) -> Target:
    """Checks a process that is to be joined.

    Raises:
        CannotAttachError: Why it cannot be.
    """
    process = Process(pid)
    # No such process, another user's, no CPython.
    python = str(inspect(pid)["python"])
    _check_launcher(process)
    if process.torch is None:
        raise CannotAttachError(f"process {pid} has not imported PyTorch")
    if process.environment.get("GRAPHDBG_ALLOW_ATTACH", "").lower() in _OFF:
        raise CannotAttachError(f"process {pid} was started with GRAPHDBG_ALLOW_ATTACH=0, which forbids attaching")
    torch = torch_version(process)
    _check_python(python, torch)
    check_state(process)
    _check_loader(process)
    return Target(process, python, torch, _ships_adapter(torch))


def check_state(process: Process) -> None:
    """Raises CannotAttachError if it cannot be traced now, as far as that is known without an attempt."""
    tracer = int(process.field("TracerPid") or 0)
    if tracer:
        raise CannotAttachError(
            f"{Process(tracer).name or 'a debugger'} (pid {tracer}) is tracing process {process.pid}"
        )
    if process.field("State").startswith("T"):
        raise CannotAttachError(f"process {process.pid} is stopped (SIGSTOP); kill -CONT {process.pid} first")


def adapters() -> list[str]:
    """The versions of PyTorch for which the package contains adapters."""
    found = (PACKAGE / "lib").glob(f"torch-*/{_ADAPTER}")
    return sorted(file.parent.name.removeprefix("torch-") for file in found)


def _ships_adapter(torch: str) -> bool:
    return minor(torch) in adapters()


def _check_python(python: str, torch: str) -> None:
    numbers = tuple(int(part) for part in python.split(".") if part.isdigit())
    if numbers and numbers < _OLDEST:
        raise CannotAttachError(
            f"the process has Python {python} and torch {minor(torch)}; graphdbg needs Python "
            f"{'.'.join(map(str, _OLDEST))} or later"
        )


def _check_launcher(process: Process) -> None:
    names = {Path(word).name for word in process.command[:2]} | {process.script}
    if not names & LAUNCHERS:
        return
    ranks = [str(each.pid) for each in _below(process.pid, lambda each: each.torch is not None)]
    offer = f"; attach to {' or '.join(ranks)}" if ranks else ""
    raise CannotAttachError(
        f"process {process.pid} starts trainings ({process.script}) and does not train itself{offer}"
    )


def _check_loader(process: Process) -> None:
    # PyTorch names them.
    if process.name == "pt_data_worker":
        raise CannotAttachError(
            f"process {process.pid} is a loader worker of {process.parent}; attach to {process.parent}: "
            f"graphdbg attach --pid {process.parent}"
        )


def _below(pid: int, is_wanted: Callable[[Process], bool]) -> list[Process]:
    """The wanted processes that were started by a process, without what these have started."""
    found = []
    for each in children(pid):
        found += [each] if is_wanted(each) else _below(each.pid, is_wanted)
    return found
