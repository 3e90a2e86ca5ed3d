"""The package where a process can read it."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from pathlib import Path

from .checks import PACKAGE
from .errors import CannotAttachError
from .processes import Process

# The process needs no server and no command line.
_NOT_COPIED = ("cli", "__pycache__", "graphdbg-server", "graphdbg-onnx", "graphdbg-inject")


def package_directory(process: Process) -> Path:
    """The directory that contains the package, as the process sees it. If need be, that of a copy in its /tmp.

    Raises:
        CannotAttachError: It can read neither.
    """
    if process.shares("mnt") and _is_readable(PACKAGE, process.user):
        return PACKAGE.parent
    inside = Path("/tmp") / f"graphdbg-{process.user}-{_digest()}"
    outside = process.path_outside(inside)
    try:
        if not (outside / "graphdbg").exists():
            _copy(outside, process.user)
        _check_owner(outside, process.user)
    except OSError as error:
        raise CannotAttachError(
            f"user {process.user} cannot read {PACKAGE}, and it cannot be copied to {inside} of process "
            f"{process.pid}: {error.strerror}"
        ) from None
    return inside


def _is_readable(path: Path, user: int) -> bool:
    if user in (0, os.geteuid()):
        return True
    for each in (path, *path.parents):
        mode = each.stat().st_mode
        if not mode & stat.S_IXOTH:
            return False
    return bool(path.stat().st_mode & stat.S_IROTH)


def _digest() -> str:
    """Distinguishes installations and their versions."""
    library = PACKAGE / "lib" / "libgraphdbg.so"
    changed = library.stat().st_mtime_ns if library.exists() else 0
    return hashlib.sha256(f"{PACKAGE}\0{changed}".encode()).hexdigest()[:16]


def _copy(directory: Path, user: int) -> None:
    part = directory.with_name(f"{directory.name}.{os.getpid()}")
    part.mkdir(mode=0o700)
    try:
        ignore = shutil.ignore_patterns(*_NOT_COPIED)
        shutil.copytree(PACKAGE, part / "graphdbg", ignore=ignore)
        if user != os.geteuid():
            for path in (part, *part.rglob("*")):
                os.chown(path, user, -1)
        part.rename(directory)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _check_owner(directory: Path, user: int) -> None:
    """The directory's name can be guessed: another user must not have made it."""
    information = directory.lstat()
    if not stat.S_ISDIR(information.st_mode) or information.st_uid != user or information.st_mode & 0o077:
        raise CannotAttachError(f"{directory} belongs to somebody else; remove it")
