"""A recorded run: `graphdbg.open_run`."""

from __future__ import annotations

import importlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Collection as AnyCollection
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from graphdbg.client.errors import USAGE, GraphdbgError
from graphdbg.client.models import Hit, TensorInfo

from . import views
from .collection import Collection, read_collections
from .divergence import Divergence, find_divergence
from .errors import Damage, MindSporeDumpError, NotRecorded, RunNotFoundError, UnknownTensor
from .files import Files, open_files
from .follow import follow, wait_for
from .graph import Graph, split_tensor
from .hits import hit_of
from .last_ops import LastOp
from .protobuf import Values
from .rank import LOST, Rank, is_mindspore_dump, rank_numbers, read_json
from .record import MODES
from .steps import Step
from .tensor import Tensor, mode_number
from .tolerance import Tolerance
from .user_changes import UserChange, change_of

if TYPE_CHECKING:
    import pyarrow
    from graphdbg.rules.finding import Finding
    from graphdbg.rules.python_rule import AnyRule
    from graphdbg.rules.rule import Rule

    # A rule, or one as the configuration writes it.
    GivenRule: TypeAlias = AnyRule | Rule | type[Rule] | Mapping[str, Any]

# The hits of each of several conditions.
Hits: TypeAlias = list[list[Hit]]

# The most serious end comes first: that of the run is the worst of its ranks'.
_ENDS = (LOST, "exception", "terminated", "closed", "exit")


class Run:
    """A recorded run. What it answers is what `refresh` found last; opening does that once.

    Not safe for use by several threads at the same time.

    Attributes:
        path: Its directory or URL.
    """

    def __init__(self, files: Files) -> None:
        self._files = files
        self.path = files.name
        self._ranks = {number: Rank(files, number) for number in rank_numbers(files)}
        if not self._ranks:
            raise (MindSporeDumpError if is_mindspore_dump(files) else RunNotFoundError)(files.name)
        self._info: Values = {}
        self._info_damages: list[Damage] = []
        self._database = views.Database()
        self._info = read_json(files, "run.json", self._info_damages)

    def __repr__(self) -> str:
        return f"Run({self.path!r})"

    def refresh(self) -> None:
        """Reads what was recorded since the last call, and finds new ranks."""
        for number in rank_numbers(self._files):
            self._ranks.setdefault(number, Rank(self._files, number))
        for rank in self._ranks.values():
            rank.refresh()

    # --- what the run is

    @property
    def id(self) -> str:
        """Its id, which is the name of its directory."""
        return str(self._info.get("run") or self.path.rstrip("/").rpartition("/")[2])

    @property
    def info(self) -> Values:
        """The content of run.json: program, started_unix_ns, world_size, resumes; {} if there is none yet."""
        return self._info

    @property
    def ranks(self) -> list[int]:
        """The ranks that recorded something, ascending."""
        return sorted(self._ranks)

    def rank(self, number: int) -> Rank:
        """One rank: its records and files, for programs that need more than this class offers.

        Raises:
            NotRecorded: There is no such rank.
        """
        if number not in self._ranks:
            raise NotRecorded(f"rank {number} recorded nothing; there are ranks {_shortened(self.ranks)}")
        return self._ranks[number]

    def selected_ranks(self, rank: int | None) -> list[Rank]:
        """One rank, or all of them. Raises NotRecorded."""
        return [self._ranks[number] for number in self.ranks] if rank is None else [self.rank(rank)]

    @property
    def config(self) -> Values:
        """The effective configuration of the lowest rank: record, save, reductions, collections."""
        return self.rank(self.ranks[0]).config

    @property
    def ended(self) -> str | None:
        """How it ended: None while a rank runs, else the worst of its ranks' ends.

        "exit", "exception", "terminated" and "closed" (the recording was switched off) are ends that a rank
        recorded; "lost" is one of a process that died, such as after SIGKILL. A rank on another machine
        that did not record its end counts as running.
        """
        ends = [rank.ended for rank in self._ranks.values()]
        if any(end is None for end in ends):
            return None
        known = [end for end in _ENDS if end in ends]
        return known[0] if known else ends[0]

    def last_ops(self, rank: int | None = None) -> list[LastOp]:
        """The op that each thread began last, by rank: unfinished ones first, then the newest first.

        Of ranks that were lost or still run; empty for those that ended properly, and for runs at a URL.

        Raises:
            NotRecorded: There is no such rank.
        """
        return [op for each in self.selected_ranks(rank) for op in each.last_ops]

    def unfinished_ops(self, rank: int | None = None) -> list[LastOp]:
        """The ops that had begun and not ended when the process died; of a process that runs, those in progress.

        A rank without any was between two ops: `last_ops` has the one before.

        Raises:
            NotRecorded: There is no such rank.
        """
        return [op for op in self.last_ops(rank) if op.unfinished]

    @property
    def damages(self) -> list[Damage]:
        """Unreadable parts of files, with file and offset; everything else is read nevertheless."""
        return self._info_damages + [damage for rank in self.selected_ranks(None) for damage in rank.damages]

    # --- steps

    def modes(self) -> list[str]:
        """The modes of its steps and passes."""
        found = {mode for rank in self._ranks.values() for mode in rank.steps.modes()}
        return sorted(found, key=MODES.index)

    def steps(self, mode: str | None = None, rank: int | None = None, complete: bool = True) -> list[int]:
        """The recorded steps, ascending.

        Args:
            mode: Those of this mode, and those with a pass of it; default: all.
            rank: Those of this rank; default: of any.
            complete: Only steps that all of these ranks have ended, or a later one, or have ended themselves.
        """
        if mode is not None:
            mode_number(mode)
        ranks = self.selected_ranks(rank)
        found = sorted({step for each in ranks for step in each.steps.steps(mode)})
        if not complete:
            return found
        running = [each.steps.last_ended for each in ranks if each.ended is None]
        return [step for step in found if step <= min(running)] if running else found

    def step_of(self, mode: str, mode_step: int) -> int:
        """The step in which the `mode_step`-th step or pass of a mode happened, from 1.

        Raises:
            NotRecorded: It was not recorded.
        """
        mode_number(mode)
        for rank in self.selected_ranks(None):
            found = rank.steps.step_of(mode, mode_step)
            if found is not None:
                return found
        raise NotRecorded(f"step {mode_step} of mode {mode} was not recorded; {self._recorded()}")

    def mode_step_of(self, step: int) -> tuple[str, int]:
        """The mode of a step, and its number among the steps of that mode, from 1.

        Raises:
            NotRecorded: The step was not recorded.
        """
        for rank in self.selected_ranks(None):
            mark = rank.steps.step(step)
            if mark is not None:
                return mark.mode, mark.mode_step
        raise NotRecorded(f"step {step} was not recorded; {self._recorded()}")

    def wait_for(self, step: int, timeout: float | None = None) -> None:
        """Waits until a step is complete on all ranks.

        Args:
            step: The step.
            timeout: Seconds; None waits for as long as the run takes.

        Raises:
            WaitTimeoutError: It was not complete in time.
            NotRecorded: The run ended before.
        """
        wait_for(self, step, timeout)

    def follow(self) -> Iterator[Step]:
        """Yields the complete steps, those before the call first, until the run has ended."""
        return follow(self)

    def step(self, number: int) -> Step:
        """A step as `follow` yields it."""
        marks = [mark for rank in self._ranks.values() if (mark := rank.steps.step(number))]
        seconds = [mark.seconds for mark in marks if mark.seconds is not None]
        mode, mode_step = (marks[0].mode, marks[0].mode_step) if marks else (MODES[0], 0)
        return Step(number, mode, mode_step, max(seconds, default=None))

    def directories(self) -> list[Path]:
        """The directories that change while it is recorded; none at a URL."""
        if self._files.local is None:
            return []
        found = [self._files.local / rank.name for rank in self._ranks.values()]
        return [each for directory in found for each in (directory, directory / "log") if each.is_dir()]

    # --- tensors

    def collections(self) -> dict[str, Collection]:
        """The collections by name, each with the tensors that it selected."""
        return read_collections(self.selected_ranks(None))

    def tensors(
        self,
        regex: str | None = None,
        *,
        collection: str | None = None,
        step: int | None = None,
        mode: str | None = None,
        rank: int | None = None,
    ) -> list[str]:
        """The names of recorded tensors, NODE:SLOT, in the order in which their nodes became known.

        Args:
            regex: A regular expression, found anywhere in the name.
            collection: Only tensors that this collection selected.
            step, mode, rank: Only tensors with a record there.

        Raises:
            GraphdbgError: The expression is invalid, or there is no such collection or mode.
            NotRecorded: There is no such rank.
        """
        number = None if mode is None else mode_number(mode)
        names: dict[str, None] = {}
        for each in self.selected_ranks(rank):
            names.update(dict.fromkeys(each.tensors(step, step, number)))
        if collection is not None:
            known = self.collections()
            if collection not in known:
                raise GraphdbgError(f"no collection {collection}; there are {', '.join(known) or 'none'}", USAGE)
            wanted = set(known[collection].tensors)
            names = {name: None for name in names if name in wanted}
        try:
            pattern = re.compile(regex or "")
        except re.error as error:
            raise GraphdbgError(f"invalid regular expression {regex}: {error}", USAGE) from None
        return [name for name in names if pattern.search(name)]

    def tensor(self, name: str | TensorInfo) -> Tensor:
        """One tensor.

        Args:
            name: NODE:SLOT; the slot may be left out if it is 0.

        Raises:
            UnknownTensor: No rank has such a node. The message has the nearest names.
        """
        full = name.name if isinstance(name, TensorInfo) else ":".join(map(str, split_tensor(name)))
        if not any(rank.tensor_key(full) for rank in self._ranks.values()):
            known = {each for rank in self._ranks.values() for each in rank.nodes.tensor_names()}
            raise UnknownTensor(full, known)
        return Tensor(self, full)

    def graph(self, rank: int | None = None) -> Graph:
        """The graph of a rank, by default of the lowest one.

        Raises:
            NotRecorded: There is no such rank.
        """
        recorded = self.rank(self.ranks[0] if rank is None else rank)
        return Graph(recorded.nodes, Counter(hit["node_id"] for hit in recorded.hits))

    def hits(self, rank: int | None = None) -> list[Hit]:
        """The hits of watchpoints, by rank in the order in which they were recorded."""
        return [
            hit_of(number, values, each)
            for each in self.selected_ranks(rank)
            for number, values in enumerate(each.hits, 1)
        ]

    def user_changes(self, rank: int | None = None) -> list[UserChange]:
        """What users have changed in the paused program, by rank in the order in which it was done.

        Raises:
            NotRecorded: There is no such rank.
        """
        return [change_of(values, each) for each in self.selected_ranks(rank) for values in each.user_changes]

    # --- tables

    def table(self, name: str) -> pyarrow.Table:
        """A whole table of all ranks.

        Args:
            name: "steps", "changes", "units", "tensors", "nodes", "hits" or "statistics".

        Raises:
            GraphdbgError: There is no such table.
            MissingPackageError: pyarrow is not installed.
        """
        views.check_view(name)
        return views.table(self.selected_ranks(None), name)

    def statistics(
        self,
        step: int | None = None,
        steps: tuple[int | None, int | None] | range | None = None,
        rank: int | None = None,
        mode: str | None = None,
        tensors: AnyCollection[str] | str | None = None,
    ) -> pyarrow.Table:
        """Statistics as a table with a row for each record; `.to_pandas()` makes a DataFrame.

        Args:
            step: One step.
            steps: Several: (first, last), both inclusive and either None, or a range.
            rank, mode: Only those; default: all.
            tensors: Names of tensors, or a regular expression that is found anywhere in the name.

        Returns:
            The columns of the Parquet files and `rank`; measures are null where there is no finite element.

        Raises:
            NotRecorded: There is no such rank.
            MissingPackageError: pyarrow is not installed.
        """
        names = self.tensors(tensors) if isinstance(tensors, str) else tensors
        first, last = (step, step) if step is not None else _bounds(steps)
        table = views.table(self.selected_ranks(rank), "statistics", first, last)
        wanted = list(steps) if isinstance(steps, range) else None
        return views.filtered(table, wanted, None if mode is None else mode_number(mode), names)

    def diff(
        self,
        other: Run | str | os.PathLike[str] | None = None,
        *,
        rank: int = 0,
        other_rank: int | None = None,
        rename: Mapping[str, str] | None = None,
        rtol: float | None = None,
        atol: float = 0.0,
        by: str = "statistics",
        progress: Callable[[int, int], None] = lambda done, total: None,
        tensors: AnyCollection[str] | None = None,
        steps: tuple[int | None, int | None] | range | None = None,
        calibrate: Run | str | os.PathLike[str] | None = None,
        sum_ranks: bool = False,
    ) -> Divergence:
        """Finds the first op at which two runs, or two ranks of this one, diverge.

        Args:
            other: The other run; default: this one.
            rank: The rank of this run.
            other_rank: That of the other run; default: the same number.
            rename: Names of nodes or scopes in this run, and the names that these have in the other one.
            rtol, atol: Measures are equal if |here - there| <= atol + rtol * size; see `tolerance.Tolerance`. Without
                rtol, it follows from the data types and from how many elements the op reduces.
            by: "statistics", or "digest", which compares all bits of the tensors that have digests.
            progress: Receives how many steps of how many have been compared.
            tensors: Names of tensors of this run, NODE:SLOT; default: all.
            steps: (first, last), both inclusive and either None, or a range without gaps; default: all.
            calibrate: A run that counts as equal to this one, such as the same program with its input changed in the
                last bit, or with another number of threads. Tensors may differ 8 times as much as in the two.
            sum_ranks: All ranks of the other run together have computed what this rank has: tensors of which they have
                parts are compared as a whole.

        Raises:
            NotRecorded: There is no such rank.
            RunNotFoundError: There is no other run.
            GraphdbgError: A rank would be compared with itself, or a tolerance or `by` is invalid.
        """
        there = self if other is None else _run_of(other)
        number = rank if other_rank is None else other_rank
        if sum_ranks:
            if other_rank is not None or there is self:
                raise GraphdbgError("the sum of ranks is that of all ranks of another run", USAGE)
            number = there.ranks[0]
        if there is self and number == rank:
            raise GraphdbgError("a rank is compared with another run or another rank", USAGE)
        return find_divergence(
            self.rank(rank),
            there.rank(number),
            rename,
            Tolerance(rtol, atol),
            by,
            progress,
            tensors,
            _bounds(_without_gaps(steps)),
            None if calibrate is None else _run_of(calibrate).rank(rank),
            [there.rank(each) for each in there.ranks] if sum_ranks else (),
        )

    @overload
    def check(
        self,
        conditions: str | Sequence[str],
        steps: tuple[int | None, int | None] | range | None = None,
        ranks: Sequence[int] | None = None,
        engine: str = "auto",
    ) -> list[Hit]: ...

    @overload
    def check(
        self,
        conditions: GivenRule | Sequence[GivenRule],
        steps: tuple[int | None, int | None] | range | None = None,
        ranks: Sequence[int] | None = None,
        engine: str = "auto",
    ) -> list[Finding]: ...

    def check(
        self,
        conditions: str | Sequence[str] | GivenRule | Sequence[GivenRule],
        steps: tuple[int | None, int | None] | range | None = None,
        ranks: Sequence[int] | None = None,
        engine: str = "auto",
    ) -> list[Hit] | list[Finding]:
        """Finds the recorded tensors that match a condition, as watchpoints of the job would have, or what rules find.

        Args:
            conditions: One or several, as for `--break-on`: "nan", "abs_max_gt:1e3", "expr:l2 > 10 && step > 100" (of
                a chain, `step` is that of the process); or
                one or several rules: as the configuration writes them, {"rule": "vanishing_gradient"}, or subclasses of
                graphdbg.Rule, or instances of them with other parameters.
            steps: (first, last), both inclusive and either None, or a range without gaps; default: all.
            ranks: Only those; default: all.
            engine: For rules: "log", "duckdb", "spark" or "auto"; see `graphdbg.rules.evaluate`.

        Returns:
            Hits, at most 10,000 of a condition: first those of the first condition, in execution order. For rules:
            findings, first those of the first rule, in order of steps. A rule in Python that raises is switched off
            with a RuleWarning, and its findings until then are returned.

        Raises:
            GraphdbgError: A condition or a rule is invalid, or a rule selects nothing that was recorded.
        """
        bounds = _bounds(_without_gaps(steps))
        rules = importlib.import_module("graphdbg.rules.given").rules_of(conditions)
        if rules:
            return self._findings(rules, bounds, ranks, engine)
        return [hit for found in self._hits_of(conditions, bounds, ranks) for hit in found]

    def _hits_of(self, conditions: Any, steps: tuple[int | None, int | None], ranks: Sequence[int] | None) -> Hits:
        """The hits of each condition. A run whose log is not all here is copied into a cache."""
        # Conditions are evaluated by the server's engine, which comes with the command line.
        run_check = importlib.import_module("graphdbg.cli.run_check")
        directory = run_check.run_to_check(self, ranks, steps, lambda *progress: None)
        checks = run_check.check_run(directory, conditions, ranks, steps, lambda *progress: None)
        return [[Hit.from_json(hit) for hit in check["hits"]] for check in checks]

    def _findings(
        self,
        rules: list[AnyRule],
        steps: tuple[int | None, int | None],
        ranks: Sequence[int] | None,
        engine: str,
    ) -> list[Finding]:
        from graphdbg.rules import evaluate, refuse_unobserved, warn_of_errors

        results = evaluate(self, rules, steps, ranks, engine)
        warn_of_errors(results)
        refuse_unobserved(results)
        return [finding for result in results for finding in result.findings]

    def sql(self, query: str) -> pyarrow.Table:
        """Answers a query by DuckDB.

        Its tables are statistics, changes, units, steps, tensors, nodes and hits, each with the column `rank`.

        Raises:
            GraphdbgError: The query is invalid, or the log is so large that it should be packed first.
            MissingPackageError: duckdb or pyarrow is not installed.
        """
        return self._database.query(self.selected_ranks(None), query)

    @property
    def directory_with_log(self) -> Path | None:
        """Its directory, if the log there has all records; None if it is at a URL, or is a chain of several."""
        complete = all(rank.keeps_log() for rank in self.selected_ranks(None))
        return self._files.local if complete else None

    def _recorded(self) -> str:
        steps = self.steps(complete=False)
        return f"recorded are steps {steps[0]} to {steps[-1]}" if steps else "no step is recorded"


def _without_gaps(
    steps: tuple[int | None, int | None] | range | None,
) -> tuple[int | None, int | None] | range | None:
    if isinstance(steps, range) and steps.step != 1:
        raise GraphdbgError("steps are examined from the first to the last, without gaps", USAGE)
    return steps


def _run_of(run: Run | str | os.PathLike[str]) -> Run:
    return run if isinstance(run, Run) else Run(open_files(run))


def _bounds(steps: tuple[int | None, int | None] | range | None) -> tuple[int | None, int | None]:
    if steps is None:
        return None, None
    if isinstance(steps, range):
        return (min(steps), max(steps)) if steps else (1, 0)
    first, last = steps
    return first, last


def _shortened(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers)) if len(numbers) <= 8 else f"{numbers[0]} to {numbers[-1]}"
