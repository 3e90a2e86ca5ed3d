"""How tensors and their parts look as variables of the protocol."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from graphdbg.client.models import Statistics

from ..debugger import TensorView, Value
from ..debugger.tensor_views import ArrayTensor
from ..terminal import visible
from .references import References
from .wire import Json

if TYPE_CHECKING:
    from graphdbg.client.jobs import Job

# Rows of a page if the client does not ask for a number.
PAGE = 100
_BINS = 20
_SUMMARY = {"shape", "dtype"}


class Container(Protocol):
    """Something that `variables` opens.

    Attributes:
        rank: The rank that its values are from.
        indexed_count: The number of its indexed parts.
    """

    @property
    def rank(self) -> int: ...

    @property
    def indexed_count(self) -> int: ...

    def named(self, rows: Rows) -> list[Json]: ...

    def indexed(self, rows: Rows, start: int, count: int) -> list[Json]: ...


@dataclass(frozen=True)
class Rows:
    """Makes variables.

    Attributes:
        references: Gets what can be opened.
        job: Has what the debugger has no expression for.
        hex: Whether whole numbers are written in base 16.
    """

    references: References
    job: Job
    hex: bool = False

    def text(self, name: str, value: object, kind: str = "") -> Json:
        """A row that cannot be opened."""
        text = "" if value is None else visible(value)
        return {"name": visible(name), "value": text, "variablesReference": 0, **({"type": kind} if kind else {})}

    def error(self, name: str, error: Exception) -> Json:
        """A row whose value cannot be had: says why."""
        return self.text(name, error) | {"presentationHint": {"attributes": ["failedEvaluation"]}}

    def value(self, name: str, value: Value) -> Json:
        """The value of an expression."""
        if value.tensor is None:
            return self.text(name, self.number(value.number) if value.number is not None else value.text, value.type)
        return self.tensor(name, value.tensor, value.text, value.type)

    def tensor(self, name: str, tensor: TensorView, text: str, kind: str) -> Json:
        """A tensor, or a part of one."""
        container = TensorContainer(tensor)
        row = self.container(name, container, text, kind)
        row["evaluateName"] = expression_of(tensor)
        row["namedVariables"] = len(container.names())
        row["indexedVariables"] = container.indexed_count
        return row | ({"memoryReference": memory_reference(tensor)} if _is_stored(tensor) and not tensor.slice else {})

    def container(self, name: str, container: Container, text: str, kind: str = "") -> Json:
        """A row that can be opened."""
        reference = self.references.add(container.rank, container)
        return self.text(name, text, kind) | {"variablesReference": reference}

    def number(self, value: Any) -> str:
        """An element or statistic."""
        if self.hex and isinstance(value, int) and not isinstance(value, bool):
            return hex(value)
        return str(value)


@dataclass(frozen=True)
class TensorContainer:
    """The parts of a tensor: what describes it by name, and its elements by index, dimension by dimension."""

    tensor: TensorView

    @property
    def rank(self) -> int:
        return self.tensor.rank

    @property
    def indexed_count(self) -> int:
        return self.tensor.shape[0] if self.tensor.shape else 0

    def names(self) -> list[str]:
        # A single element has no distribution, and a computed tensor no steps before.
        more = ["histogram", "history"] if self.tensor.shape and _is_stored(self.tensor) else []
        return ["shape", "dtype", "statistics", *more]

    def named(self, rows: Rows) -> list[Json]:
        shape = ", ".join(map(str, self.tensor.shape))
        described = [rows.text("shape", f"[{shape}]"), rows.text("dtype", self.tensor.dtype)]
        parts = [name for name in self.names() if name not in _SUMMARY]
        return described + [rows.container(name, TensorPart(self.tensor, name), "") for name in parts]

    def indexed(self, rows: Rows, start: int, count: int) -> list[Json]:
        count = min(count, self.indexed_count - start)
        if count <= 0:
            return []
        if len(self.tensor.shape) == 1:
            return self._elements(rows, start, count)
        parts = enumerate(self.tensor.children(start, count), start)
        return [rows.tensor(f"[{index}]", part, type_of(part), type_of(part)) for index, part in parts]

    def _elements(self, rows: Rows, start: int, count: int) -> list[Json]:
        # One request for all of them.
        values = self.tensor.read(f"[{start}:{start + count}]").tolist()
        name = expression_of(self.tensor)
        return [
            rows.text(f"[{index}]", rows.number(value), self.tensor.dtype) | {"evaluateName": f"{name}[{index}]"}
            for index, value in enumerate(values, start)
        ]


@dataclass(frozen=True)
class TensorPart:
    """What is measured of a tensor: its statistics, histogram or history. Computed when it is opened."""

    tensor: TensorView
    name: str
    indexed_count: int = 0

    @property
    def rank(self) -> int:
        return self.tensor.rank

    def named(self, rows: Rows) -> list[Json]:
        if self.name == "statistics":
            return statistics_rows(rows, self.tensor.statistics(), expression_of(self.tensor))
        if self.name == "histogram":
            return histogram_rows(rows, self.tensor)
        points = self.tensor.history()
        return [rows.text(f"step {each.step}", summary(each.statistics)) for each in points[-PAGE:]]

    def indexed(self, rows: Rows, start: int, count: int) -> list[Json]:
        return []


def statistics_rows(rows: Rows, statistics: Statistics, expression: str) -> list[Json]:
    """A row for each statistic."""
    fields = [each.name for each in dataclasses.fields(statistics) if each.name != "quantiles"]
    values = {name: getattr(statistics, name) for name in fields} | dict(statistics.quantiles)
    return [
        rows.text(name, "none" if value is None else rows.number(value)) | {"evaluateName": f"{expression}.{name}"}
        for name, value in values.items()
    ]


def histogram_rows(rows: Rows, tensor: TensorView) -> list[Json]:
    """A row for each bin, and for what is in none."""
    found = rows.job.histogram(tensor.name, bins=_BINS, step=tensor.step, rank=tensor.rank, slice=tensor.slice or None)
    most = max(found.counts, default=1) or 1
    bins = zip(found.edges, found.edges[1:], found.counts, strict=False)
    listed = [
        rows.text(f"{low:.4g} to {high:.4g}", f"{count}  {'█' * math.ceil(20 * count / most)}".rstrip())
        for low, high, count in bins
    ]
    others = {"NaN": found.nan_count, "Infinity": found.pos_inf_count, "-Infinity": found.neg_inf_count}
    return listed + [rows.text(name, count) for name, count in others.items() if count]


def summary(statistics: Statistics) -> str:
    """One line about the elements of a tensor."""
    if statistics.min is None:
        return f"{statistics.count} elements, none finite"
    odd = {"NaN": statistics.nan_count, "Inf": statistics.pos_inf_count + statistics.neg_inf_count}
    parts = [f"{count} {name}" for name, count in odd.items() if count]
    return ", ".join([f"min {statistics.min:.4g}, max {statistics.max:.4g}, mean {statistics.mean:.4g}", *parts])


def type_of(tensor: TensorView) -> str:
    return f"{tensor.dtype}[{', '.join(map(str, tensor.shape))}]"


def _is_stored(tensor: TensorView) -> bool:
    """Whether a tensor is one of the job, rather than computed from some."""
    return not isinstance(tensor, ArrayTensor)


def expression_of(tensor: TensorView) -> str:
    """The expression that evaluates to a tensor."""
    if not _is_stored(tensor):
        return f"({tensor.name})"
    step = f"@{tensor.step}" if tensor.step.isdigit() else "@-1" if tensor.step == "previous" else ""
    return f"`{tensor.name}`{tensor.slice}{step}"


def memory_reference(tensor: TensorView) -> str:
    """What `readMemory` calls a tensor: NODE:SLOT@STEP@RANK."""
    return f"{tensor.name}@{tensor.step}@{tensor.rank}"
