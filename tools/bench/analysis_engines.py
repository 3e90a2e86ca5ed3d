"""DuckDB and Spark, as `tools/dev bench analysis` asks them: answers with their time and memory."""

from __future__ import annotations

import importlib
import importlib.util
import multiprocessing
import os
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from analysis_questions import Row
from graphdbg.runs import Run, open_run, spark_views

_FIRST_ROW = "select step from statistics limit 1"
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Timing:
    """What an answer took.

    Attributes:
        seconds: Its time, up to the last row.
        peak_bytes: The largest resident memory of the engine's process meanwhile.
    """

    seconds: float
    peak_bytes: int


class Engine(Protocol):
    """Answers SQL over a run."""

    name: str

    def open(self, run: Path) -> Timing:
        """Opens a run up to its first row."""

    def ask(self, sql: str) -> tuple[list[Row], Timing]:
        """All rows of an answer."""

    def close(self) -> None:
        """Ends the engine's process."""


class DuckDb:
    """`Run.sql`, in a process of its own, in whose memory there is nothing else."""

    name = "DuckDB"

    def __init__(self) -> None:
        self._process = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))

    def open(self, run: Path) -> Timing:
        return self._process.submit(_open_run, run).result()

    def ask(self, sql: str) -> tuple[list[Row], Timing]:
        table, timing = self._process.submit(_ask_run, sql).result()
        return table.to_pylist(), timing

    def close(self) -> None:
        self._process.shutdown()


# The run that a process of DuckDb has opened.
_opened: list[Run] = []


def _open_run(path: Path) -> Timing:
    def opened() -> Run:
        run = open_run(path)
        run.sql(_FIRST_ROW)
        return run

    _opened[:], timing = _timed(lambda: [opened()], os.getpid())
    return timing


def _ask_run(sql: str) -> tuple[Any, Timing]:
    return _timed(lambda: _opened[0].sql(sql), os.getpid())


class Spark:
    """A session of an application on this machine, with the settings that rules have."""

    name = "Spark"

    def __init__(self) -> None:
        self._session: Any = importlib.import_module("graphdbg.runs.spark_session").new_session()
        # Java has a process of its own.
        self._process = int(self._session.sparkContext._jvm.java.lang.ProcessHandle.current().pid())

    def open(self, run: Path) -> Timing:
        def opened() -> None:
            spark_views(self._session, run)
            self._session.sql(_FIRST_ROW).collect()

        return _timed(opened, self._process)[1]

    def ask(self, sql: str) -> tuple[list[Row], Timing]:
        rows, timing = _timed(lambda: self._session.sql(sql).collect(), self._process)
        return [row.asDict() for row in rows], timing

    def close(self) -> None:
        self._session.stop()


def has_spark() -> bool:
    return shutil.which("java") is not None and importlib.util.find_spec("pyspark") is not None


def _timed(action: Callable[[], _Result], process: int) -> tuple[_Result, Timing]:
    """The result of an action, and what it took in a process."""
    # Lets the kernel count the largest resident memory from now on: see clear_refs in proc(5).
    Path(f"/proc/{process}/clear_refs").write_text("5")
    start = time.perf_counter()
    result = action()
    seconds = time.perf_counter() - start
    status = Path(f"/proc/{process}/status").read_text()
    peak = next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM:"))
    return result, Timing(seconds, peak)
