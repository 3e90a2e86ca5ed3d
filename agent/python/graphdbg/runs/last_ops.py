"""The last ops of a rank's threads: the op that each had begun, and whether it had ended."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from graphdbg.client.models import Source

from .errors import Damage
from .files import regular_size
from .ring import ANOTHERS
from .times import utc

if TYPE_CHECKING:
    from .rank import Rank

# Behind the name of the ring.
SUFFIX = ".ops"
# Where it is once the ring is gone.
NAME = "ring.gdbr" + SUFFIX
_MAGIC = b"GDBGOPS\x01"
_HEADER = struct.Struct("<8sIIII16s")
_SLOT = struct.Struct("<QQQIIIIIHH464s")
_SIZE = 512
_MAX_SLOTS = 4096


@dataclass(frozen=True)
class LastOp:
    """The op that a thread began last.

    Attributes:
        rank: The rank.
        thread: The thread's id in the kernel.
        node: The name of the node; "#ID" if it is not known.
        step: The step, from 1.
        exec_order: Its place in the step, from 1.
        began: When it began, in UTC, to a few milliseconds.
        unfinished: Whether it had begun and not ended.
        source: The user's own line that called it; None if that is not known.
    """

    rank: int
    thread: int
    node: str
    step: int
    exec_order: int
    began: datetime
    unfinished: bool
    source: Source | None = None

    def __str__(self) -> str:
        at = f" ({self.source.file}:{self.source.line})" if self.source else ""
        state = "in" if self.unfinished else "after"
        began = self.began.astimezone().strftime("%H:%M:%S.%f")[:-3]
        return f"rank {self.rank}: {state} {self.node}{at}, op {self.exec_order} of step {self.step}, begun at {began}"


def read_last_ops(rank: Rank) -> tuple[list[LastOp], Damage | None]:
    """The last op of each thread of a rank: unfinished ones first, then the newest first.

    Empty if the rank ended properly, or its recording has no such file.
    """
    if rank.files.local is None:
        return [], None
    places = [rank.files.local / rank.name / NAME]
    if rank.ring_file:
        places.insert(0, Path(f"{rank.ring_file}{SUFFIX}"))
    for file in dict.fromkeys(places):
        try:
            content = content_of(file)
        except OSError:
            continue
        try:
            if file != places[-1]:
                check_incarnation(content, rank)
            ops = _decode(content, rank)
        except ValueError as error:
            return [], Damage(str(file), 0, str(error))
        return sorted(ops, key=lambda op: (not op.unfinished, -op.step, -op.exec_order)), None
    return [], None


def content_of(file: Path) -> bytes:
    """The content of a file of last ops, as far as it may reach. Raises OSError."""
    regular_size(file)
    with file.open("rb") as stream:
        return stream.read(_SIZE * (_MAX_SLOTS + 1))


def check_incarnation(content: bytes, rank: Rank) -> None:
    """Checks a file of last ops outside of the run, which may name any file.

    Raises:
        ValueError: It is not that of the rank's process.
    """
    known = content.startswith(_MAGIC) and len(content) >= _HEADER.size
    if rank.ring_incarnation is not None and not (known and _HEADER.unpack_from(content)[5] == rank.ring_incarnation):
        raise ValueError(ANOTHERS)


def _decode(content: bytes, rank: Rank) -> list[LastOp]:
    if len(content) < _SIZE:
        raise ValueError(f"{len(content)} bytes; the header alone has {_SIZE}")
    magic, header_size, slot_size, slots, _, _ = _HEADER.unpack_from(content)
    if magic != _MAGIC:
        raise ValueError("this is no file of last ops, or of a later version")
    if (header_size, slot_size) != (_SIZE, _SIZE) or slots > _MAX_SLOTS or len(content) < _SIZE * (slots + 1):
        raise ValueError(
            f"a header of {header_size} bytes and {slots} slots of {slot_size} in a file of {len(content)} bytes"
        )
    found = [_op(content, _SIZE * slot, rank) for slot in range(1, slots + 1)]
    return [op for op in found if op is not None]


def _op(content: bytes, offset: int, rank: Rank) -> LastOp | None:
    (sequence, step, began, node, order, thread, text_node, line, name_size, file_size, text) = _SLOT.unpack_from(
        content, offset
    )
    if thread == 0 or node == 0:
        return None
    known = rank.nodes.nodes.get(node)
    name, source = rank.nodes.name(node), known.source if known else None
    if known is None and text_node == node and name_size + file_size <= len(text):
        name = text[:name_size].decode(errors="replace")
        file = text[name_size : name_size + file_size].decode(errors="replace")
        source = Source(file, line) if file else None
    return LastOp(rank.number, thread, name, step, order, utc(began), sequence % 2 == 1, source)
