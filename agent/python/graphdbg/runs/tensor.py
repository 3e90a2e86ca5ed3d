"""A tensor of a recorded run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy
from graphdbg.client.errors import USAGE, GraphdbgError
from graphdbg.client.models import Statistics

from .errors import NotRecorded
from .log import Found, Selection
from .packages import load
from .rank import Rank
from .record import (
    CHANGE,
    CHANGE_KIND,
    CHANGE_MEASURES,
    COUNTS,
    MEASURES,
    MODES,
    RECORD,
    SAVED,
    Array,
    mode_name,
)
from .saved import value_of_scalar
from .tables import shape_of

if TYPE_CHECKING:
    import pandas

    from .run import Run

_SHOWN = 8
# Places of the fields of RECORD, which are in the order of those of Statistics.
_FIRST_COUNT = RECORD.names.index(COUNTS[0]) if RECORD.names else 0
_FIRST_MEASURE = _FIRST_COUNT + len(COUNTS)
_END_OF_MEASURES = _FIRST_MEASURE + len(MEASURES)
_REDUCTIONS = ("min", "max", "mean", "std", "variance", "sum", "l1", "l2")
_WITH_ABS = {"mean": "abs_mean", "max": "abs_max", "sum": "l1", "l1": "l1", "l2": "l2"}
_OF_CHANGE = (*CHANGE_MEASURES, "changed_count", "finite_count", "digest", "compared_step")


class Tensor:
    """One output of a node, with what was recorded of it.

    Attributes:
        name: The full name, NODE:SLOT.
    """

    def __init__(self, run: Run, name: str) -> None:
        self._run = run
        self.name = name

    def __repr__(self) -> str:
        return f"Tensor({self.name!r})"

    def steps(self, mode: str | None = None, rank: int | None = None) -> list[int]:
        """The steps with statistics or a value, ascending.

        Args:
            mode: "train", "eval", "predict" or "unknown"; default: all.
            rank: Only those of this rank; default: of any.
        """
        number = None if mode is None else mode_number(mode)
        found: set[int] = set()
        for each in self._run.selected_ranks(rank):
            for records in (self._statistics(each).records, self._saved(each).records):
                kept = records if number is None else records[records["mode"] == number]
                found.update(numpy.unique(kept["step"]).tolist())
        return sorted(found)

    def previous_steps(self, step: int, n: int) -> list[int]:
        """The last `n` steps before `step` with statistics or a value, ascending."""
        return [each for each in self.steps() if each < step][-n:] if n > 0 else []

    def value(self, step: int, rank: int = 0, mode: str | None = None, pass_: int = 1) -> Array:
        """The value at the end of its execution in a step, as it was in memory.

        A tensor with one element needs no saved value: its statistics have it.

        Args:
            step: The step.
            rank: The rank.
            mode: The mode of the pass; default: that of the step itself, if it has a value.
            pass_: Which pass of its mode within the step, from 1.

        Returns:
            An array of the tensor's shape and data type. bfloat16 and float8 need the package ml_dtypes;
            without it, bfloat16 is float32.

        Raises:
            NotRecorded: It has no value there. The message lists the steps that have one.
            DataLossError: The file with the value is damaged.
        """
        recorded = self._run.rank(rank)
        found = _of_pass(recorded, self._saved(recorded, step).records, mode, pass_)
        if len(found):
            return self._read(recorded, found[-1])
        statistics = _of_pass(recorded, self._statistics(recorded, step).records, mode, pass_)
        if len(statistics) and statistics[-1]["count"] == 1:
            return value_of_scalar(statistics[-1], self._shape_in_graph(recorded) or ())
        raise self._no_value(step, recorded, len(statistics) > 0)

    def values(self, rank: int = 0) -> dict[int, Array]:
        """All values of a rank by step: of each step the last execution of its first pass.

        Raises:
            DataLossError: A file with a value is damaged.
        """
        recorded = self._run.rank(rank)
        found: dict[int, Array] = {}
        for record in _of_pass(recorded, self._statistics(recorded).records, None, 1):
            if record["count"] == 1:
                found[int(record["step"])] = value_of_scalar(record, self._shape_in_graph(recorded) or ())
        latest = {int(record["step"]): record for record in _of_pass(recorded, self._saved(recorded).records, None, 1)}
        found |= {step: self._read(recorded, record) for step, record in latest.items()}
        return dict(sorted(found.items()))

    def statistics(self, step: int, rank: int = 0, mode: str | None = None, pass_: int = 1) -> Statistics:
        """The statistics of its last execution in a pass of a step. Of light records, most numbers are None or 0.

        Raises:
            NotRecorded: There are none. The message lists the steps that have some.
        """
        recorded = self._run.rank(rank)
        found = _of_pass(recorded, self._statistics(recorded, step).records, mode, pass_)
        if not len(found):
            known = numpy.unique(self._statistics(recorded).records["step"]).tolist()
            raise NotRecorded(f"{self.name} has no statistics at step {step} on rank {rank}; {_recorded(known)}")
        return statistics_of(found[-1])

    def reduction(self, step: int, name: str, abs: bool = False, rank: int = 0) -> float:
        """One number of the tensor: from its statistics, or else from its saved value.

        Args:
            step: The step.
            name: "min", "max", "mean", "std", "variance", "sum", "l1" or "l2", over the finite elements.
            abs: Whether the absolute values are reduced.
            rank: The rank.

        Raises:
            NotRecorded: Neither statistics nor the value are there.
            GraphdbgError: The name is not one of these.
        """
        if name not in _REDUCTIONS:
            raise GraphdbgError(f"no reduction {name}; there are {', '.join(_REDUCTIONS)}", USAGE)
        try:
            found = _reduced(self.statistics(step, rank), name, abs)
            if found is not None:
                return found
        except NotRecorded:
            pass
        elements = numpy.asarray(self.value(step, rank), "f8").ravel()
        return _reduce(elements[numpy.isfinite(elements)], name, abs)

    def shape(self, step: int, rank: int = 0) -> tuple[int, ...]:
        """The shape of the saved value at a step, or else the one that the graph has.

        Raises:
            NotRecorded: Neither is known.
        """
        recorded = self._run.rank(rank)
        saved = self._saved(recorded, step).records
        if len(saved):
            return tuple(shape_of(saved.view(SAVED)[-1]))
        found = self._shape_in_graph(recorded)
        if found is None:
            raise NotRecorded(f"the shape of {self.name} is not in the graph, and no value was saved at step {step}")
        return found

    def history(self, name: str = "abs_mean", rank: int | None = None) -> pandas.DataFrame:
        """A measure over all steps.

        Args:
            name: A column of `Run.statistics` such as "l2", or of changes such as "change_abs_mean".
            rank: Only this rank; default: all.

        Returns:
            A row for each record, ordered by rank, step and pass, with the columns rank, step, mode, mode_step, pass,
            iteration and `name`.

        Raises:
            GraphdbgError: There is no such measure.
            MissingPackageError: pandas is not installed.
        """
        pandas = load("pandas", "a history")
        if name not in (*COUNTS, *MEASURES, "grad_scale", *_OF_CHANGE):
            known = ", ".join((*COUNTS, *MEASURES, *_OF_CHANGE))
            raise GraphdbgError(f"no measure {name}; there are {known}", USAGE)
        parts = [self._history(pandas, each, name) for each in self._run.selected_ranks(rank)]
        return pandas.concat(parts, ignore_index=True)

    def _history(self, pandas: Any, rank: Rank, name: str) -> Any:
        of_change = name in _OF_CHANGE
        records = (self._changes(rank) if of_change else self._statistics(rank)).records
        fields = records.view(CHANGE) if of_change else records
        rows = pandas.DataFrame(
            {
                "rank": rank.number,
                "step": records["step"].astype("i8"),
                "mode": [mode_name(int(mode)) for mode in records["mode"]],
                "mode_step": rank.steps.mode_steps(records),
                "pass": records["pass"].astype("i8"),
                "iteration": records["iteration"].astype("i8"),
                name: fields[name].copy(),
            }
        )
        return rows.sort_values(["step", "pass"], kind="stable")

    def _read(self, rank: Rank, record: Any) -> Array:
        return rank.read_saved(numpy.array([record]).view(SAVED)[0])

    def _selection(self, rank: Rank, kinds: tuple[int, ...], step: int | None) -> Found:
        key = rank.tensor_key(self.name)
        if key is None:
            return Found.join([])
        return rank.select(Selection(kinds, step, step, *key))

    def _statistics(self, rank: Rank, step: int | None = None) -> Found:
        return self._selection(rank, (1,), step)

    def _changes(self, rank: Rank) -> Found:
        return self._selection(rank, (CHANGE_KIND,), None)

    def _saved(self, rank: Rank, step: int | None = None) -> Found:
        return self._selection(rank, (5,), step)

    def _shape_in_graph(self, rank: Rank) -> tuple[int, ...] | None:
        key = rank.tensor_key(self.name)
        node = rank.nodes.nodes.get(key[0]) if key else None
        return next((each.shape for each in node.outputs if key and each.slot == key[1]), None) if node else None

    def _no_value(self, step: int, rank: Rank, has_statistics: bool) -> NotRecorded:
        known = numpy.unique(self._saved(rank).records["step"]).tolist()
        message = f"{self.name} has no value at step {step} on rank {rank.number}; {_recorded(known)}"
        return NotRecorded(message + ("; this step has its statistics" if has_statistics else ""))


def mode_number(mode: str) -> int:
    """The number of a mode. Raises GraphdbgError."""
    if mode not in MODES:
        raise GraphdbgError(f"no mode {mode}; there are {', '.join(MODES)}", USAGE)
    return MODES.index(mode)


def statistics_of(record: Any) -> Statistics:
    """The statistics of a record; numbers are None where there is no finite element."""
    # Much faster than to read each field.
    fields = record.tolist()
    measures = (None if math.isnan(number) else number for number in fields[_FIRST_MEASURE:_END_OF_MEASURES])
    return Statistics(*fields[_FIRST_COUNT:_FIRST_MEASURE], *measures)


def _of_pass(rank: Rank, records: Array, mode: str | None, pass_: int) -> Array:
    """The records of a pass; of each step, those of one mode: by default the step's own if it has any."""
    kept: Array = records[records["pass"] == pass_]
    if mode is not None:
        return kept[kept["mode"] == mode_number(mode)]  # type: ignore[no-any-return]
    chosen: dict[int, int] = {}
    for step, found in zip(kept["step"].tolist(), kept["mode"].tolist(), strict=True):
        own = rank.steps.step(step)
        if step not in chosen or (own is not None and mode_name(found) == own.mode):
            chosen[step] = found
    return kept[kept["mode"] == [chosen[step] for step in kept["step"].tolist()]] if len(kept) else kept


def _recorded(steps: Sequence[int]) -> str:
    if not steps:
        return "none was recorded at any step"
    shown = ", ".join(map(str, steps[:_SHOWN]))
    return f"recorded are steps {shown}" + (f", … {steps[-1]} ({len(steps)} in all)" if len(steps) > _SHOWN else "")


def _reduced(statistics: Statistics, name: str, absolute: bool) -> float | None:
    finite = statistics.zero_count + statistics.negative_count + statistics.positive_count
    if absolute and name not in _WITH_ABS:
        return None
    if absolute:
        return getattr(statistics, _WITH_ABS[name])  # type: ignore[no-any-return]
    if name == "sum":
        return None if statistics.mean is None else statistics.mean * finite
    if name == "std":
        return None if statistics.variance is None else float(numpy.sqrt(statistics.variance))
    return getattr(statistics, name)  # type: ignore[no-any-return]


def _reduce(elements: Array, name: str, absolute: bool) -> float:
    values = numpy.abs(elements) if absolute else elements
    if name == "l1":
        return float(numpy.abs(values).sum())
    if name == "l2":
        return float(numpy.sqrt((values**2).sum()))
    if not len(values) and name != "sum":
        return float("nan")
    return float(getattr(values, {"variance": "var"}.get(name, name))())
