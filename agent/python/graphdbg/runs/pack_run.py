"""Packs a whole run, once or beside the running job, and puts copies elsewhere."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from graphdbg.client.errors import USAGE, GraphdbgError

from .files import Files, LocalFiles, open_files
from .opening import open_run
from .pack import pack_rank
from .rank import LOST, Rank, merged, rank_numbers
from .recovery import recover
from .safetensors import finish_parts

_FOLLOWED_SECONDS = 5.0
_RANK_FILES = ("graph.gdbm", "hits.gdbm", "collections.jsonl")
_RUN_FILES = ("run.json", "findings.jsonl")


@dataclass
class PackReport:
    """The result of `pack_run`.

    Attributes:
        rows: The number of records that were packed.
        bytes: The size of the Parquet files that were written.
        files: Their number.
        ended: Whether all ranks have ended, so that nothing is left to pack.
        lost: Tensors that a process did not live to write.
        total: The number of records that there were to pack when it began.
    """

    rows: int = 0
    bytes: int = 0
    files: int = 0
    ended: bool = False
    lost: list[str] = field(default_factory=list)
    total: int = 0


def pack_run(
    path: str,
    to: str | None = None,
    follow: bool = False,
    keep_log: bool = False,
    progress: Callable[[PackReport], None] = lambda report: None,
) -> PackReport:
    """Packs a run into Parquet.

    Args:
        path: The run's directory, on this machine.
        to: A directory or URL to which a copy goes: Parquet and everything but the log, `rank.json` last.
        follow: Whether to continue until all ranks have ended.
        keep_log: Whether the log stays. It always stays with `to`, and where it is damaged.
        progress: Called whenever something has been written.

    Raises:
        GraphdbgError: The path is a URL, or there is no run.
        DataLossError: What was read back differs from what was written. The log stays.
        OSError: A file cannot be written.
    """
    run = open_run(path)
    files = open_files(path)
    if files.local is None:
        raise GraphdbgError(f"{path} is not on this machine: a run is packed where its log is", USAGE)
    target: Files = files if to is None else _copy_target(to)
    forget = to is None and not keep_log
    report = PackReport()
    for number in run.ranks:
        rank = run.rank(number)
        report.total += rank.unpacked_count if target is files else rank.end_position
    ranks: dict[int, Rank] = {}
    while True:
        ranks |= {number: run.rank(number) for number in run.ranks}
        ended = [_pack_alone(rank, target, forget, follow, report, progress) for rank in ranks.values()]
        report.ended = all(ended) and rank_numbers(files) == sorted(ranks)
        if target is not files:
            _copy_run(files, target)
        if report.ended or not follow:
            return report
        time.sleep(_FOLLOWED_SECONDS)
        run.refresh()


def _pack_alone(
    rank: Rank,
    target: Files,
    forget: bool,
    follow: bool,
    report: PackReport,
    progress: Callable[[PackReport], None],
) -> bool:
    """Packs a rank unless another process is packing it, which would write the same files."""
    descriptor = os.open(Path(rank.files.name) / rank.name, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return _pack(rank, target, forget, report, progress)
    except BlockingIOError:
        if not follow:
            raise GraphdbgError(f"another process is packing rank {rank.number} of {rank.files.name}") from None
        # That of another host, on a file system that both have.
        return rank.ended is not None
    finally:
        os.close(descriptor)


def _copy_target(to: str) -> Files:
    target = open_files(to)
    if isinstance(target, LocalFiles):
        Path(target.name).mkdir(parents=True, exist_ok=True)
    return target


def _pack(rank: Rank, target: Files, forget: bool, report: PackReport, progress: Callable[[PackReport], None]) -> bool:
    """Packs what is new of a rank, and returns whether it has ended."""
    # Another process may have packed the rank meanwhile.
    rank.refresh()
    ended = recover(rank) and rank.ended is not None
    if ended:
        report.lost += finish_parts(rank)

    def count(rows: int) -> None:
        report.rows += rows
        progress(report)

    part = pack_rank(rank, target, ended, count)
    report.bytes += part.bytes
    report.files += part.files
    if target.name != rank.files.name:
        _copy_rank(rank, target, ended)
    elif forget:
        rank.refresh()
        _forget_log(rank, ended)
    progress(report)
    return ended


def _forget_log(rank: Rank, ended: bool) -> None:
    """Removes the segments all of whose records are in Parquet, as the files' verification showed."""
    packed = merged(rank.packed.ranges())
    for segment in rank.log.segments if rank.log else ():
        whole = any(first <= segment.first and segment.end <= end for first, end in packed)
        if whole and segment.count and segment.damage is None and (ended or not segment.is_open):
            segment.file.unlink()
    rank.refresh()


def _copy_run(files: Files, target: Files) -> None:
    for name in _RUN_FILES:
        _copy(files, name, target)


def _copy_rank(rank: Rank, target: Files, ended: bool) -> None:
    for name in _RANK_FILES:
        _copy(rank.files, f"{rank.name}/{name}", target)
    for name in rank.files.names(f"{rank.name}/tensors"):
        if name.endswith(".safetensors"):
            _copy(rank.files, f"{rank.name}/tensors/{name}", target)
    if ended:
        # Last: a copy with this file is complete. The end of a process that died is not in its own.
        information = rank.info if rank.info.get("ended") else {**rank.info, "ended": {"reason": LOST}}
        target.write(f"{rank.name}/rank.json", json.dumps(information).encode())


def _copy(files: Files, path: str, target: Files) -> None:
    """Copies a file that is not there yet with the same size; none is ever changed without growing."""
    size = files.size(path)
    if size is not None and files.local is not None and target.size(path) != size:
        target.copy(files.local / path, path)
