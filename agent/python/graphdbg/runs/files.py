"""The files of a run: in a directory, or at a URL through the file systems of pyarrow and fsspec."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from graphdbg._deferred_signals import uninterrupted
from graphdbg.client.errors import UNAVAILABLE, USAGE, GraphdbgError

from .packages import load

# The files of a run that belong to no rank.
RUN_FILES = ("run.json", "findings.jsonl")
_COPIED_AT_ONCE = 8 << 20


class Files(Protocol):
    """A tree of files. Paths are relative to its root, with "/" between their parts."""

    name: str
    local: Path | None

    def names(self, path: str = "") -> list[str]:
        """The names in a directory, sorted; empty if there is no such directory."""

    def size(self, path: str) -> int | None:
        """The size of a file in bytes; None if there is no such file."""

    def read(self, path: str, offset: int = 0, count: int | None = None) -> bytes:
        """The bytes of a file. Raises OSError."""

    def write(self, path: str, content: bytes) -> None:
        """Writes a whole file, atomically. Raises OSError."""

    def copy(self, source: Path, path: str, progress: Callable[[int], None]) -> None:
        """Copies a file of this machine, atomically. `progress` receives numbers of bytes. Raises OSError."""

    def remove(self, path: str) -> None:
        """Removes a file, if there is one. Raises OSError."""

    def total_size(self) -> int:
        """The size of all files in bytes."""


class LocalFiles:
    """A directory of this machine."""

    def __init__(self, root: Path) -> None:
        self.local: Path | None = root
        self.root = root
        self.name = str(root)

    def names(self, path: str = "") -> list[str]:
        try:
            return sorted(os.listdir(self.root / path))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def size(self, path: str) -> int | None:
        try:
            return regular_size(self.root / path)
        except OSError:
            return None

    def read(self, path: str, offset: int = 0, count: int | None = None) -> bytes:
        regular_size(self.root / path)
        with (self.root / path).open("rb") as stream:
            stream.seek(offset)
            return stream.read() if count is None else stream.read(count)

    def write(self, path: str, content: bytes) -> None:
        with whole_file(self.root / path) as stream:
            stream.write(content)

    def copy(self, source: Path, path: str, progress: Callable[[int], None]) -> None:
        with source.open("rb") as content, whole_file(self.root / path) as stream:
            _copy_bytes(content, stream, progress)

    def remove(self, path: str) -> None:
        (self.root / path).unlink(missing_ok=True)

    def total_size(self) -> int:
        total = 0
        for directory, _, names in os.walk(self.root):
            for name in names:
                with contextlib.suppress(OSError):
                    total += os.lstat(os.path.join(directory, name)).st_size
        return total


class RemoteFiles:
    """A tree below a URL.

    Attributes:
        filesystem: The file system, as pyarrow.fs.FileSystem.
        root: The path in it.
    """

    def __init__(self, url: str) -> None:
        self.local: Path | None = None
        self.name = url.rstrip("/")
        self.filesystem, root = _filesystem(url)
        self.root = root.rstrip("/")
        self._selector = load("pyarrow.fs", f"reading {url}").FileSelector

    def names(self, path: str = "") -> list[str]:
        selector = self._selector(self.path(path), allow_not_found=True)
        return sorted(info.base_name for info in self.filesystem.get_file_info(selector))

    def size(self, path: str) -> int | None:
        info = self.filesystem.get_file_info(self.path(path))
        return info.size if info.is_file else None

    def read(self, path: str, offset: int = 0, count: int | None = None) -> bytes:
        with self.filesystem.open_input_file(self.path(path)) as stream:
            stream.seek(offset)
            return bytes(stream.read() if count is None else stream.read(count))

    def write(self, path: str, content: bytes) -> None:
        # Object storage has no rename; a file appears there when it is whole.
        with self._whole(path) as stream:
            stream.write(content)

    def copy(self, source: Path, path: str, progress: Callable[[int], None]) -> None:
        with source.open("rb") as content, self._whole(path) as stream:
            _copy_bytes(content, stream, progress)

    @contextlib.contextmanager
    def _whole(self, path: str) -> Iterator[Any]:
        """A file to write, which is removed after an error or an interruption: closing it would make it appear."""
        target = self.path(path)
        self.filesystem.create_dir(target.rpartition("/")[0], recursive=True)
        try:
            with self.filesystem.open_output_stream(target) as stream:
                yield stream
        except BaseException:
            self.remove(path)
            raise

    def remove(self, path: str) -> None:
        if self.size(path) is not None:
            self.filesystem.delete_file(self.path(path))

    def total_size(self) -> int:
        selector = self._selector(self.root, recursive=True, allow_not_found=True)
        return sum(info.size or 0 for info in self.filesystem.get_file_info(selector) if info.is_file)

    def path(self, path: str) -> str:
        """The path in the file system."""
        return f"{self.root}/{path}".rstrip("/")


def _copy_bytes(content: BinaryIO, stream: Any, progress: Callable[[int], None]) -> None:
    while part := content.read(_COPIED_AT_ONCE):
        stream.write(part)
        progress(len(part))


def regular_size(file: Path) -> int:
    """The size of a file.

    Raises:
        OSError: There is none, or it is a pipe or a device, at which a reader could wait forever.
    """
    status = file.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(file))
    return status.st_size


def is_url(place: str) -> bool:
    return "://" in place


def open_files(place: str | os.PathLike[str]) -> Files:
    """The tree at a path or URL.

    Raises:
        GraphdbgError: No file system handles the URL, or a package for it is missing.
    """
    text = os.fspath(place)
    if text.startswith("file://"):
        return LocalFiles(Path(text.removeprefix("file://")))
    return RemoteFiles(text) if is_url(text) else LocalFiles(Path(text))


@contextlib.contextmanager
def whole_file(file: Path) -> Iterator[BinaryIO]:
    """A file to write, which appears under its name once it is whole, and not at all after an error."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.part")
    try:
        with part.open("wb") as stream:
            yield stream
            stream.flush()
            os.fdatasync(stream.fileno())
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    sync_directory(file.parent)


@contextlib.contextmanager
def whole_directory(directory: Path) -> Iterator[None]:
    """Removes a directory after an error or an interruption, unless it was there before."""
    was_there = directory.exists()
    try:
        yield
    except BaseException:
        if not was_there:
            with uninterrupted():
                shutil.rmtree(directory, ignore_errors=True)
        raise


def sync_directory(directory: Path) -> None:
    """Makes renames in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _filesystem(url: str) -> tuple[Any, str]:
    fs = load("pyarrow.fs", f"reading {url}")
    try:
        filesystem, path = fs.FileSystem.from_uri(url)
        return filesystem, str(path)
    except (ValueError, NotImplementedError, OSError) as problem:
        reason = str(problem)
    try:
        fsspec = load("fsspec", f"a URL of the kind {url.partition(':')[0]}")
        filesystem, path = fsspec.core.url_to_fs(url)
    except ValueError:
        raise GraphdbgError(f"no file system handles {url}: {reason}", USAGE) from None
    except ImportError as error:
        raise GraphdbgError(f"{url} cannot be opened: {error}", UNAVAILABLE) from None
    return fs.PyFileSystem(fs.FSSpecHandler(filesystem)), path
