"""Has a process run a text: Python source, on its main thread, between two instructions of its program."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..client import Json
from .errors import CannotAttachError
from .processes import Process

Method = Literal["auto", "ptrace", "remote", "gdb"]
METHODS: tuple[Method, ...] = ("auto", "ptrace", "remote", "gdb")

_INJECT = Path(__file__).resolve().parents[2] / "lib" / "graphdbg-inject"
_SECONDS = 30.0
# Reading the symbols of all libraries takes long.
_GDB_SECONDS = 120.0
# Errors after which the same may succeed at another moment.
_PASSING = frozenset({"queue_locked", "call_failed", "in_kernel", "no_stack", "queue_full"})
# Where the injector writes the address of the text's memory.
ADDRESS_MARK = "0xGRAPHDBG_ADDRESS"

_GDB = """set pagination off
set confirm off
set $text = (char *)((void *(*)(void *, unsigned long, int, int, int, long))mmap)(0, {size}, 3, 34, -1, 0)
restore {file} binary $text
printf "queued: %d\\n", ((int (*)(void *, void *))Py_AddPendingCall)((void *)PyRun_SimpleString, $text)
detach
"""


@dataclass(frozen=True)
class Queued:
    """The text will run when the main thread comes back to Python.

    Attributes:
        where: Where the main thread was, such as "clock_nanosleep in libc.so.6"; empty if unknown.
        stopped_us: How long it stood still, in microseconds.
    """

    where: str = ""
    stopped_us: int = 0


class Refused(CannotAttachError):
    """The text was not queued.

    Attributes:
        code: Why, for programs.
        passes: The next attempt may succeed.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.passes = code in _PASSING


def inspect(pid: int) -> Json:
    """The interpreter of a process: `python`, its version, and `file`.

    Raises:
        Refused: It has none, or is not this user's.
    """
    return _run("--pid", str(pid), "--inspect")


def inject(process: Process, version: str, text: str, method: Method) -> Queued:
    """Has a process run a text.

    Args:
        version: Of its interpreter, such as "3.11".
        text: Python source that raises nothing.
        method: How. "auto": as its version allows.

    Raises:
        Refused: It was not queued, and nothing was changed.
    """
    if method == "gdb":
        return _by_gdb(process, text)
    if method == "remote" or (method == "auto" and _may_execute_remotely(version)):
        try:
            return _by_remote_execution(process, version, text)
        except Refused as error:
            if method == "remote":
                raise
            try:
                return _by_ptrace(process, text)
            except Refused as other:
                raise Refused(other.code, f"{error}; {other}") from None
    return _by_ptrace(process, text)


def _by_ptrace(process: Process, text: str) -> Queued:
    answer = _run("--pid", str(process.pid), "--text-file", "-", text=text)
    if answer["state"] == "queue_full":
        raise Refused("queue_full", f"the queue of the interpreter of process {process.pid} is full")
    return Queued(answer["where"], answer["stopped_us"])


def _run(*arguments: str, text: str = "") -> Json:
    if not _INJECT.exists():
        raise CannotAttachError(f"this installation of graphdbg has no {_INJECT.name}; reinstall the graphdbg wheel")
    try:
        done = subprocess.run(
            [str(_INJECT), *arguments],
            input=text.encode(errors="surrogateescape"),
            capture_output=True,
            timeout=_SECONDS,
            # Ctrl-C must not kill it while a thread of the program is stopped.
            start_new_session=True,
        )
        answer: Json = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError) as error:
        raise CannotAttachError(f"{_INJECT.name} does not answer: {error}") from None
    if answer["state"] == "failed":
        raise Refused(answer["code"], answer["message"])
    return answer


def _may_execute_remotely(version: str) -> bool:
    """`sys.remote_exec` needs CPython 3.14, and the same version on both sides."""
    return hasattr(sys, "remote_exec") and version == f"{sys.version_info.major}.{sys.version_info.minor}"


def _by_remote_execution(process: Process, version: str, text: str) -> Queued:
    if not _may_execute_remotely(version):
        raise Refused("remote_version", f"process {process.pid} has Python {version}: sys.remote_exec needs the same")
    # The process reads the file when it runs the text, so the file stays until then.
    directory = Path(tempfile.mkdtemp(prefix="graphdbg-text-", dir=process.path_outside(Path("/tmp"))))
    file = directory / "text.py"
    file.write_text(f"{text}\nimport shutil; shutil.rmtree({_inside(process, directory)!r}, ignore_errors=True)\n")
    with contextlib.suppress(OSError):
        os.chown(directory, process.user, -1)
    try:
        sys.remote_exec(process.pid, _inside(process, file))  # type: ignore[attr-defined]
    except (OSError, RuntimeError) as error:
        shutil.rmtree(directory, ignore_errors=True)
        raise Refused("remote_refused", f"sys.remote_exec: {error}") from None
    return Queued()


def _inside(process: Process, path: Path) -> str:
    """A path below /proc/PID/root as the process itself sees it."""
    return "/" + str(path.relative_to(process.directory / "root"))


def _by_gdb(process: Process, text: str) -> Queued:
    """All threads of the process stand still, for about a second."""
    if shutil.which("gdb") is None:
        raise Refused("no_gdb", "gdb is not installed")
    _try_gdb()
    with _file(text.encode(errors="surrogateescape") + b"\0") as file, _file(b"") as script:
        script.write_text(_GDB.format(size=file.stat().st_size, file=file))
        output = _run_gdb(process.pid, "-x", str(script))
    if "queued: 0\n" not in output:
        raise Refused("gdb_failed", f"gdb: {_last_line(output)}")
    return Queued()


def _try_gdb() -> None:
    """Raises an error if gdb cannot call functions, in a process that nobody needs.

    gdb 13 cannot restore the registers of processors with AMX, and then a system call of the process fails.
    """
    with subprocess.Popen(["sleep", str(_GDB_SECONDS)], stderr=subprocess.DEVNULL) as other:
        try:
            output = _run_gdb(other.pid, "-ex", 'printf "called: %d\\n", ((int (*)(void))getpid)()')
        finally:
            other.kill()
    if f"called: {other.pid}\n" not in output:
        raise Refused("gdb_failed", f"gdb cannot call functions on this machine: {_last_line(output)}")


def _run_gdb(pid: int, *commands: str) -> str:
    try:
        done = subprocess.run(
            ["gdb", "--nx", "--batch", "--pid", str(pid), *commands],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_GDB_SECONDS,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        raise Refused("gdb_failed", f"gdb has not finished within {_GDB_SECONDS:g} s") from None
    return done.stdout + done.stderr


def _last_line(output: str) -> str:
    """But for those in brackets, in which gdb tells of threads and of the end."""
    lines = [line for line in output.splitlines() if line.strip() and not line.startswith("[")]
    return lines[-1] if lines else "no output"


@contextlib.contextmanager
def _file(content: bytes) -> Iterator[Path]:
    descriptor, name = tempfile.mkstemp(prefix="graphdbg-")
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        yield Path(name)
    finally:
        os.unlink(name)
