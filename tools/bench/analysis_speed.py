"""How fast DuckDB and Spark answer questions about a packed run: 64 ranks, 500 steps and 3,000 tensors, about 5 GB.

The run is written first, with facts planted in it by which every answer is verified. In each round, every question
is sent to each engine twice in a row, the engines in an order that is shuffled, and the second answer is timed;
times are medians over the rounds. Spark is measured where pyspark and Java are installed; both engines must give the
same answers. `--linked` adds a run of more ranks whose files are hard links to the same data. Exit code 1 if an answer
is wrong, or if a run of at least 1,024 ranks misses a goal.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from analysis_engines import DuckDb, Engine, Spark, Timing, has_spark
from analysis_facts import Facts, Size
from analysis_questions import Question, Row, questions, same
from analysis_run import link_run, write_run

OPEN = "open the run"
# What is measured if no options say otherwise.
FULL = Size(ranks=64, steps=500, tensors=3000)
_RANKS_WITH_GOALS = 1024


@dataclass
class Line:
    """What a question took.

    Attributes:
        question: Its name.
        limit_seconds: The goal for DuckDB; None: there is none.
        rows: The number of rows of the answer; 0 where no question was asked.
        timings: Of each engine by name.
        wrong: The engines with a wrong answer.
    """

    question: str
    limit_seconds: float | None = None
    rows: int = 0
    timings: dict[str, list[Timing]] = field(default_factory=dict)
    wrong: set[str] = field(default_factory=set)

    def add(self, engine: Engine, timing: Timing) -> None:
        self.timings.setdefault(engine.name, []).append(timing)

    def seconds(self, engine: str) -> float:
        return statistics.median(each.seconds for each in self.timings[engine])

    def peak_bytes(self, engine: str) -> int:
        return max(each.peak_bytes for each in self.timings[engine])

    @property
    def is_late(self) -> bool:
        return self.limit_seconds is not None and self.seconds(DuckDb.name) > self.limit_seconds

    def json(self) -> dict[str, Any]:
        engines = {
            name: {
                "seconds": self.seconds(name),
                "peak_bytes": self.peak_bytes(name),
                "correct": name not in self.wrong,
            }
            for name in self.timings
        }
        return {
            "question": self.question,
            "rows": self.rows or None,
            "limit_seconds": self.limit_seconds,
            "engines": engines,
        }


def measure(engines: Sequence[Engine], run: Path, asked: Sequence[Question], rounds: int) -> list[Line]:
    opening = Line(OPEN)
    for engine in engines:
        opening.add(engine, engine.open(run))
    lines = [Line(question.name) for question in asked]
    for _ in range(rounds):
        for question, line in zip(asked, lines, strict=True):
            _ask(random.sample(engines, len(engines)), question, line)
    return [opening, *lines]


def _ask(engines: Sequence[Engine], question: Question, line: Line) -> None:
    answers: list[list[Row]] = []
    for engine in engines:
        engine.ask(question.sql)
        rows, timing = engine.ask(question.sql)
        line.add(engine, timing)
        answers.append(rows)
        if not question.is_answered_by(rows):
            line.wrong.add(engine.name)
    # Some answers contain more than the planted facts. If that part differs, either engine may be wrong.
    if not all(same(rows, answers[0]) for rows in answers):
        line.wrong |= {engine.name for engine in engines}
    line.rows = len(answers[0])


def show(lines: Sequence[Line]) -> None:
    names = list(lines[0].timings)
    heads = ["", "rows", *(f"{name} s" for name in names), *(["ratio"] if len(names) > 1 else [])]
    table = [[*heads, *(f"{name} MB" for name in names), ""]]
    for line in lines:
        times = [line.seconds(name) for name in names]
        ratio = [f"{times[-1] / times[0]:.1f}"] if len(times) > 1 else []
        memory = [f"{line.peak_bytes(name) / 1e6:.0f}" for name in names]
        table.append(
            [line.question, f"{line.rows or ''}", *(f"{each:.3g}" for each in times), *ratio, *memory, _remark(line)]
        )
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = [text.rjust(width) for text, width in zip(row[1:-1], widths[1:-1], strict=True)]
        print("  ".join([row[0].ljust(widths[0]), *cells, row[-1]]).rstrip())


def _remark(line: Line) -> str:
    wrong = [f"wrong answer: {', '.join(sorted(line.wrong))}"] if line.wrong else []
    late = [f"above the limit of {line.limit_seconds:g} s"] if line.is_late else []
    return "; ".join(wrong + late)


def made_run(folder: Path, size: Size, is_quiet: bool) -> Path:
    """The run of this size in a folder, which is written unless it is there."""
    run = folder / f"analysis-{size}"
    if not (run / "run.json").exists():
        # An interrupted process may have left a part of it.
        shutil.rmtree(run, ignore_errors=True)
        start = time.perf_counter()
        write_run(run, size)
        if not is_quiet:
            print(f"wrote {size.rows} rows in {time.perf_counter() - start:.0f} s")
    return run


def made_link(run: Path, ranks: int) -> Path:
    linked = run.with_name(f"{run.name}-linked-{ranks}")
    if not (linked / "run.json").exists():
        shutil.rmtree(linked, ignore_errors=True)
        link_run(linked, run, ranks)
    return linked


def stored_bytes(run: Path) -> int:
    return sum(file.stat().st_size for file in (run / "parquet").rglob("*.parquet"))


@contextlib.contextmanager
def started(names: Sequence[str]) -> Iterator[list[Engine]]:
    """The engines of these names."""
    known: dict[str, Callable[[], Engine]] = {"duckdb": DuckDb, "spark": Spark}
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(contextlib.closing(known[name]())) for name in names]


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=FULL.ranks)
    parser.add_argument("--steps", type=int, default=FULL.steps)
    parser.add_argument("--tensors", type=int, default=FULL.tensors)
    parser.add_argument("--out", type=Path, help="where the run is written and kept (default: a temporary folder)")
    parser.add_argument("--linked", type=int, metavar="RANKS", help="also ask DuckDB about so many ranks")
    parser.add_argument("--rounds", type=int, default=3)
    installed = ["duckdb", "spark"] if has_spark() else ["duckdb"]
    parser.add_argument(
        "--engines", nargs="+", choices=("duckdb", "spark"), default=installed, help="default: those that are installed"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    try:
        options.size = Size(options.ranks, options.steps, options.tensors)
    except ValueError as error:
        parser.error(str(error))
    if options.linked is not None and options.linked < options.ranks:
        parser.error(f"--linked must be at least the number of ranks, {options.ranks}")
    return options


def described(size: Size) -> str:
    """The size of a run, and the full one if it is smaller."""
    text = f"{size.ranks:,} ranks, {size.steps:,} steps, {size.tensors:,} tensors: {size.rows:,} rows"
    return text if size.rows >= FULL.rows else f"{text} (reduced from {FULL.rows:,})"


def measured(options: argparse.Namespace, folder: Path) -> dict[str, list[Line]]:
    """The lines of each run, by a description of the run."""
    facts = Facts(options.size)
    run = made_run(folder, facts.size, options.json)
    title = f"{described(facts.size)}, {stored_bytes(run) / facts.size.rows:.1f} B a row"
    with started(options.engines) as engines:
        found = {title: measure(engines, run, questions(facts), options.rounds)}
    if options.linked:
        title = f"{described(replace(facts.size, ranks=options.linked))}, linked"
        found[title] = measured_links(made_link(run, options.linked), facts, options)
    return found


def measured_links(run: Path, facts: Facts, options: argparse.Namespace) -> list[Line]:
    asked = [each for each in questions(facts, options.linked) if each.is_for_links]
    # One machine with Spark is no match for so many files.
    with started(["duckdb"]) as engines:
        lines = measure(engines, run, asked, options.rounds)
    if options.linked >= _RANKS_WITH_GOALS:
        for line, question in zip(lines[1:], asked, strict=True):
            line.limit_seconds = question.limit_seconds
    return lines


def main() -> int:
    options = parsed()
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        found = measured(options, options.out)
    else:
        with tempfile.TemporaryDirectory(prefix="graphdbg-bench-") as folder:
            found = measured(options, Path(folder))
    if options.json:
        print(json.dumps([{"run": title, "lines": [line.json() for line in each]} for title, each in found.items()]))
    else:
        print(f"medians, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
        for title, each in found.items():
            print(f"\n{title}")
            show(each)
    lines = [line for each in found.values() for line in each]
    return 1 if any(line.wrong or line.is_late for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
