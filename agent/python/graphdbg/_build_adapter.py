"""Builds libraries that the package does not contain, once per machine.

The sources are in native/. The libraries are stored in ~/.cache/graphdbg/adapters
(or below XDG_CACHE_HOME), each in a directory that is named after everything that
the library depends on: processes share it, and other versions do not.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ._log import log

_SOURCES = Path(__file__).resolve().parent / "native"
_TIMEOUT_SECONDS = 600.0

_FLAGS = ("-shared", "-fPIC", "-O2", "-DNDEBUG", "-w", "-fvisibility=hidden", "-fvisibility-inlines-hidden")


class CannotBuild(Exception):
    """A library cannot be built; the message, which users see, gives the reason."""


@dataclass(frozen=True)
class Library:
    """A shared library to build."""

    # The library's target, such as "PyTorch 2.13.0", for messages.
    purpose: str
    # Distinguishes the library from others of its kind, such as "2.13.0-cxx11".
    key: str
    file_name: str
    # A directory below native/. Every .cc file in it is compiled.
    sources: str
    flags: Sequence[str]
    # Objects and options for the linker.
    links: Sequence[str]
    # Compiles all sources as one translation unit, so that PyTorch's headers, which
    # dominate the compile time, are read only once.
    unity_build: bool = False


def cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "graphdbg" / "adapters"


def built(library: Library) -> Path:
    """Returns the library's file. Raises CannotBuild if it has not been built yet."""
    file = _file_of(library)
    if not file.exists():
        raise CannotBuild(f"there is no adapter for {library.purpose} yet; debugging any program with it makes one")
    return file


def _file_of(library: Library) -> Path:
    return cache_directory() / f"{library.key}-{_digest(library)}" / library.file_name


def build(library: Library) -> Path:
    """Returns the library's file and builds it first if necessary, which may take a minute.

    Raises CannotBuild.
    """
    try:
        file = _file_of(library)
        if file.exists():
            return file
        target = file.parent
        target.parent.mkdir(parents=True, exist_ok=True)
        with _exclusive(_sibling(target, "lock")):
            if not file.exists():
                _build(library, target)
        return file
    except OSError as error:
        raise CannotBuild(f"cannot store compiled files: {error}") from error


def _sibling(target: Path, suffix: str) -> Path:
    return target.parent / f"{target.name}.{suffix}"


def _digest(library: Library) -> str:
    """A digest of everything that the library depends on, except the compiler."""
    digest = hashlib.sha256("\0".join((platform.machine(), *_FLAGS, *library.flags)).encode())
    for file in sorted(_SOURCES.rglob("*")):
        if file.is_file():
            digest.update(file.relative_to(_SOURCES).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def _exclusive(lock: Path) -> Iterator[None]:
    """Holds a lock file that only one process of this machine can hold at a time."""
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    with lock.open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise CannotBuild(f"another process holds {lock}") from None
                time.sleep(0.1)
        yield


def has_compiler() -> bool:
    try:
        return bool(_compiler())
    except CannotBuild:
        return False


def _compiler() -> str:
    for name in (os.environ.get("CXX"), "c++", "g++", "clang++"):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise CannotBuild("no C++ compiler found (c++, g++, clang++ or $CXX); install one for the compiled adapter")


def _build(library: Library, target: Path) -> None:
    compiler_log = _sibling(target, "log")
    if compiler_log.exists():
        raise CannotBuild(f"compiling an adapter failed before; see {compiler_log}, and delete it to try again")
    compiler = _compiler()
    log(f"no adapter for {library.purpose}: compiling one (about 30 s, once)...")
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        output = Path(scratch) / "output"
        output.mkdir()
        # Moved only if the compiler has failed: a process that is killed leaves no sign of failure.
        own_log = output / "compiler.log"
        with own_log.open("wb") as stream:
            succeeded = _run(_command(compiler, library, output), stream.fileno())
        if not succeeded:
            own_log.rename(compiler_log)
            raise CannotBuild(f"compiling an adapter failed, see {compiler_log}")
        # Atomic: processes that read the cache without the lock never see a partial
        # directory.
        output.rename(target)


def _command(compiler: str, library: Library, output: Path) -> list[str]:
    sources = sorted((_SOURCES / library.sources).glob("*.cc"))
    if library.unity_build:
        everything = output / "everything.cc"
        everything.write_text("".join(f'#include "{source.relative_to(_SOURCES)}"\n' for source in sources))
        sources = [everything]
    includes = ["-I", str(_SOURCES), "-I", str(_SOURCES / "agent" / "include")]
    outputs = ["-o", str(output / library.file_name), f"-Wl,-soname,{library.file_name}"]
    return [compiler, *_FLAGS, *includes, *library.flags, *map(str, sources), *outputs, *library.links]


def _run(command: Sequence[str], log_file: int) -> bool:
    """Runs the compiler; False if it fails or takes too long."""
    os.write(log_file, (" ".join(command) + "\n").encode())
    # The compiler is not debugged. It runs in its own process group, so that the
    # processes that it starts can be killed with it.
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("GRAPHDBG_")}
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=log_file, stderr=log_file, env=environment, start_new_session=True
    )
    try:
        return process.wait(_TIMEOUT_SECONDS) == 0
    except subprocess.TimeoutExpired:
        os.write(log_file, f"graphdbg: not finished after {_TIMEOUT_SECONDS:g} s\n".encode())
        return False
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
