"""Compiles, on this machine and once, what the package does not bring.

The sources are in native/; what is made of them is kept in
~/.cache/graphdbg/adapters (or below XDG_CACHE_HOME), in a directory named by
what it depends on, so that processes share it and other versions do not.
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
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_SOURCES = Path(__file__).resolve().parent / "native"
_SECONDS = 600.0

_FLAGS = ("-shared", "-fPIC", "-O2", "-DNDEBUG", "-w", "-fvisibility=hidden", "-fvisibility-inlines-hidden")


class CannotCompile(Exception):
    """Why not, in words for the user."""


@dataclass(frozen=True)
class Library:
    """A shared library to be made."""

    # What it is for, as "PyTorch 2.13.0"; stands in messages.
    purpose: str
    # What tells it from others of its kind, as "2.13.0-cxx11".
    key: str
    file_name: str
    # Below native/: every .cc file in it is a part.
    sources: str
    flags: Sequence[str]
    # Objects and options for the linker.
    links: Sequence[str]
    # As parts of one file: PyTorch's headers, which are what takes the time, are
    # then read once.
    together: bool = False


def cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "graphdbg" / "adapters"


def compiled(library: Library) -> Path:
    """The library's file, made now if need be. May take a minute; raises CannotCompile."""
    try:
        directory = cache_directory()
        place = directory / f"{library.key}-{_digest(library)}"
        file = place / library.file_name
        if file.exists():
            return file
        directory.mkdir(parents=True, exist_ok=True)
        with _alone(_beside(place, "lock")):
            if not file.exists():
                _compile(library, place)
        return file
    except OSError as error:
        raise CannotCompile(f"cannot keep compiled files: {error}") from error


def _beside(place: Path, ending: str) -> Path:
    return place.parent / f"{place.name}.{ending}"


def _digest(library: Library) -> str:
    """Of all that the result depends on, the compiler apart."""
    digest = hashlib.sha256("\0".join((platform.machine(), *_FLAGS, *library.flags)).encode())
    for file in sorted(_SOURCES.rglob("*")):
        if file.is_file():
            digest.update(file.relative_to(_SOURCES).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Lets one process of this machine in at a time."""
    deadline = time.monotonic() + _SECONDS
    with lock.open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise CannotCompile(f"another process holds {lock}") from None
                time.sleep(0.1)
        yield


def _compiler() -> str:
    for name in (os.environ.get("CXX"), "c++", "g++", "clang++"):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise CannotCompile("there is no C++ compiler (c++, g++, clang++ or $CXX)")


def _compile(library: Library, place: Path) -> None:
    log = _beside(place, "log")
    if log.exists():
        raise CannotCompile(f"compiling one failed before; see {log}, and remove it to try again")
    compiler = _compiler()
    print(
        f"graphdbg: no adapter for {library.purpose}: compiling one (about 30 s, once)...", file=sys.stderr, flush=True
    )
    with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        with log.open("wb") as output:
            try:
                succeeded = _run(_command(compiler, library, made), output.fileno())
            except BaseException:
                # Interrupted: that says nothing about the next time.
                log.unlink()
                raise
        if not succeeded:
            raise CannotCompile(f"compiling one failed, see {log}")
        log.rename(made / "compiler.log")
        # All or nothing: who looks at the cache without the lock sees no half.
        made.rename(place)


def _command(compiler: str, library: Library, made: Path) -> list[str]:
    parts = sorted((_SOURCES / library.sources).glob("*.cc"))
    if library.together:
        everything = made / "everything.cc"
        everything.write_text("".join(f'#include "{part.relative_to(_SOURCES)}"\n' for part in parts))
        parts = [everything]
    includes = ["-I", str(_SOURCES), "-I", str(_SOURCES / "agent" / "include")]
    output = ["-o", str(made / library.file_name), f"-Wl,-soname,{library.file_name}"]
    return [compiler, *_FLAGS, *includes, *library.flags, *map(str, parts), *output, *library.links]


def _run(command: Sequence[str], log: int) -> bool:
    """Runs the compiler; False if it fails or takes too long."""
    os.write(log, (" ".join(command) + "\n").encode())
    # Not debugged, and a group of its own: what it starts ends with it.
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("GRAPHDBG_")}
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
    )
    try:
        return process.wait(_SECONDS) == 0
    except subprocess.TimeoutExpired:
        os.write(log, f"graphdbg: not done after {_SECONDS:g} s\n".encode())
        return False
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
