"""The ring of a rank: a mapped file that keeps the last records when the process dies."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy

from .crc32c import crcs_at
from .errors import Damage
from .files import regular_size
from .record import RECORD, RECORD_SIZE, Array

MAGIC = b"GDBGRNG\x01"
HEADER = struct.Struct("<8sIIQQ16sIIII")
HEADER_SIZE = 4096
INCARNATION, HEAD, TAIL, DROPPED, TENSORS_DROPPED = 32, 128, 192, 256, 264
# What is wrong with a file that a run names and that is not of it.
ANOTHERS = "the file is that of another process"
_MAX_BYTES = 4 << 30
# struct flock of <fcntl.h>, with the alignment of the platform's C compiler.
_FLOCK = struct.Struct("@hhlli0q")

# Descriptors of rings that this process has locked. They stay open, and no other is opened, because
# closing any descriptor of a file releases the process's lock: that of the agent in this process, or ours.
_own: dict[tuple[int, int], int] = {}


@dataclass(frozen=True)
class RingHeader:
    """Attributes: capacity in records, process, state, and positions up to which records were appended (head)
    and written to the log (tail)."""

    capacity: int
    unix_ns: int
    incarnation: bytes
    rank: int
    world_size: int
    pid: int
    state: int
    head: int
    tail: int
    dropped: int
    tensors_dropped: int


@dataclass(frozen=True)
class Recovered:
    """Records of a ring, of shape (n,), with their positions, u64 of shape (n,), in ascending order."""

    header: RingHeader | None
    positions: Array
    records: Array
    damage: Damage | None = None


def nothing(damage: Damage | None = None) -> Recovered:
    return Recovered(None, numpy.empty(0, "<u8"), numpy.empty(0, RECORD), damage)


def is_locked(file: Path) -> bool:
    """Whether the process that writes the ring is alive: it holds a record lock on the file for its life."""
    with _opened(file) as descriptor:
        if descriptor in _own.values():
            return True
        asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        answer = _FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
        return bool(answer[0] != fcntl.F_UNLCK)


class _opened:
    """A descriptor of a ring, which is closed at the end unless it is a ring of this process."""

    def __init__(self, file: Path) -> None:
        regular_size(file)
        status = os.stat(file)
        key = (status.st_dev, status.st_ino)
        if key not in _own and _maps(status.st_ino, file):
            _own[key] = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        self._kept = key in _own
        self.descriptor = _own[key] if self._kept else os.open(file, os.O_RDONLY | os.O_CLOEXEC)

    def __enter__(self) -> int:
        return self.descriptor

    def __exit__(self, *_: object) -> None:
        if not self._kept:
            os.close(self.descriptor)


def _maps(inode: int, file: Path) -> bool:
    """Whether this process has mapped the file, as its agent does."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return False
    return any(line.endswith(file.name) and line.split()[4] == str(inode) for line in lines)


class Lock:
    """The record lock of a ring whose process is gone, held while it is recovered.

    Raises:
        BlockingIOError: The process is alive.
    """

    def __init__(self, file: Path) -> None:
        with _opened(file) as descriptor:
            if descriptor in _own.values():
                raise BlockingIOError(errno.EAGAIN, "the ring belongs to this process")
        self._descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._descriptor)
            raise
        status = os.fstat(self._descriptor)
        self._key = (status.st_dev, status.st_ino)
        _own[self._key] = self._descriptor

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: object) -> None:
        del _own[self._key]
        os.close(self._descriptor)


def read_ring(file: Path, wanted: int = 0, incarnation: bytes | None = None) -> Recovered:
    """The records of a ring from position `wanted` on whose CRC holds.

    Args:
        file: The ring.
        wanted: The first position.
        incarnation: That of the process; the ring of another one is damage. None: whichever it is.
    """
    try:
        with _opened(file) as descriptor:
            size = os.fstat(descriptor).st_size
            if size < HEADER_SIZE:
                return nothing(Damage(str(file), size, "the ring's header is cut short"))
            return _read(file, descriptor, size, wanted, incarnation)
    except FileNotFoundError:
        return nothing()
    except (OSError, ValueError) as error:
        return nothing(Damage(str(file), 0, str(error)))


def _read(file: Path, descriptor: int, size: int, wanted: int, incarnation: bytes | None) -> Recovered:
    header, problem = _header(os.pread(descriptor, HEADER_SIZE, 0), size)
    if header is None:
        return nothing(Damage(str(file), 0, problem))
    if incarnation not in (None, header.incarnation):
        return nothing(Damage(str(file), INCARNATION, ANOTHERS))
    start = max(wanted, header.head - header.capacity, 0)
    if start >= header.head:
        return Recovered(header, numpy.empty(0, "<u8"), numpy.empty(0, RECORD))
    positions = numpy.arange(start, header.head, dtype="<u8")
    # Copied before they are verified, because the writer may be appending.
    records = _slots(descriptor, header.capacity, start % header.capacity, len(positions))
    positions = positions[: len(records)]
    valid = (records["crc"] != 0) & (crcs_at(records, positions) == records["crc"])
    return Recovered(header, positions[valid], records[valid])


def _slots(descriptor: int, capacity: int, first: int, count: int) -> Array:
    """Copies `count` slots from `first` on, continuing at slot 0 behind the last one."""
    copied = bytearray()
    # Not mapped, because Python's mmap duplicates the descriptor, and closing that would release the lock, too.
    for slot, length in ((first, min(count, capacity - first)), (0, max(0, count - (capacity - first)))):
        copied += os.pread(descriptor, length * RECORD_SIZE, HEADER_SIZE + slot * RECORD_SIZE)
    return numpy.frombuffer(copied, RECORD, count=len(copied) // RECORD_SIZE)


def _header(content: bytes, size: int) -> tuple[RingHeader | None, str]:
    magic, header_size, record_size, capacity, *process = HEADER.unpack_from(content)
    if magic[:7] != MAGIC[:7]:
        return None, "this is not a ring"
    if magic != MAGIC:
        return None, f"version {magic[7]} of the format is later than 1"
    if (header_size, record_size) != (HEADER_SIZE, RECORD_SIZE):
        return None, f"a header of {header_size} bytes and records of {record_size} bytes"
    if not 1 <= capacity <= min(_MAX_BYTES, size - HEADER_SIZE) // RECORD_SIZE:
        return None, f"a capacity of {capacity} records does not fit into {size} bytes"
    counters = [struct.unpack_from("<Q", content, offset)[0] for offset in (HEAD, TAIL, DROPPED, TENSORS_DROPPED)]
    if counters[0] > 2**63:
        return None, f"the head {counters[0]} is out of range"
    return RingHeader(capacity, *process, *counters), ""
