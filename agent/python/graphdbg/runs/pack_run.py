"""Packs a whole run, once or beside the running job, and puts copies elsewhere."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from graphdbg.client.errors import USAGE, GraphdbgError

from .files import RUN_FILES, Files, LocalFiles, open_files
from .loading import load_logs
from .opening import open_run
from .pack import pack_rank
from .rank import LOST, Rank, merged, rank_numbers
from .recovery import recover
from .safetensors import finish_parts

# Receives what is being done, and how many records or bytes of how many are.
Progress = Callable[[str, int, int], None]

_FOLLOWED_SECONDS = 5.0
_RANK_FILES = ("graph.gdbm", "hits.gdbm", "op-times.gdbm", "user-changes.gdbm", "collections.jsonl")


@dataclass
class PackReport:
    """The result of `pack_run`.

    Attributes:
        rows: The number of records that were packed.
        bytes: The size of the Parquet files that were written.
        files: Their number.
        ended: Whether all ranks have ended, so that nothing is left to pack.
        lost: Tensors that a process did not live to write.
    """

    rows: int = 0
    bytes: int = 0
    files: int = 0
    ended: bool = False
    lost: list[str] = field(default_factory=list)


@dataclass
class _Counter:
    """Reports progress.

    Attributes:
        progress: Receives it.
        what: What is being done.
        total, done: Bytes, or records.
    """

    progress: Progress
    what: str
    total: int
    done: int = 0

    def __call__(self, count: int) -> None:
        self.done += count
        self.progress(self.what, self.done, self.total)


def pack_run(
    path: str,
    to: str | None = None,
    follow: bool = False,
    keep_log: bool = False,
    progress: Progress = lambda what, done, total: None,
) -> PackReport:
    """Packs a run into Parquet.

    Args:
        path: The run's directory, on this machine.
        to: A directory or URL to which a copy goes: Parquet and everything but the log, `rank.json` last.
        follow: Whether to continue until all ranks have ended.
        keep_log: Whether the log stays. It always stays with `to`, and where it is damaged.
        progress: Receives what is being done, and how much of how much is.

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
    ranks: dict[int, Rank] = {}
    while True:
        load_logs(run, lambda done, total: progress("reading the log", done, total))
        ranks |= {number: run.rank(number) for number in run.ranks}
        rows = sum(rank.unpacked_count if target is files else rank.end_position for rank in ranks.values())
        packing = _Counter(progress, "packing", rows)
        ended = [_pack_alone(rank, target, forget, follow, report, packing) for rank in ranks.values()]
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
    packing: _Counter,
) -> bool:
    """Packs a rank unless another process is packing it, which would write the same files."""
    descriptor = os.open(Path(rank.files.name) / rank.name, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return _pack(rank, target, forget, report, packing)
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


def _pack(rank: Rank, target: Files, forget: bool, report: PackReport, packing: _Counter) -> bool:
    """Packs what is new of a rank, and returns whether it has ended."""
    # Another process may have packed the rank meanwhile.
    rank.refresh()
    ended = recover(rank) and rank.ended is not None
    if ended:
        report.lost += finish_parts(rank)

    part = pack_rank(rank, target, ended, packing)
    report.rows += part.rows
    report.bytes += part.bytes
    report.files += part.files
    if target.name != rank.files.name:
        _copy_rank(rank, target, ended, packing.progress)
    elif forget:
        rank.refresh()
        _forget_log(rank, ended)
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
    _copy(files, RUN_FILES, target, lambda what, done, total: None)


def _copy_rank(rank: Rank, target: Files, ended: bool, progress: Progress) -> None:
    names = [name for name in rank.files.names(f"{rank.name}/tensors") if name.endswith(".safetensors")]
    paths = [f"{rank.name}/{name}" for name in (*_RANK_FILES, *(f"tensors/{name}" for name in names))]
    _copy(rank.files, paths, target, progress)
    if ended:
        # Last: a copy with this file is complete. The end of a process that died is not in its own.
        information = rank.info if rank.info.get("ended") else {**rank.info, "ended": {"reason": LOST}}
        target.write(f"{rank.name}/rank.json", json.dumps(information).encode())


def _copy(files: Files, paths: Collection[str], target: Files, progress: Progress) -> None:
    """Copies files that are not there yet with the same size; none is ever changed without growing."""
    sizes = {path: size for path in paths if (size := files.size(path)) is not None}
    missing = {path: size for path, size in sizes.items() if target.size(path) != size}
    copying = _Counter(progress, "copying", sum(missing.values()))
    for path in missing if files.local is not None else ():
        target.copy(Path(files.name) / path, path, copying)
