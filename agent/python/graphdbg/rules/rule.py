"""Rules as Python classes, for diagnoses that are no expression."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

from graphdbg._config._validate import nearest

from .definition import SELECTION_LISTS, SERIES_PARTS, RuleError
from .finding import Finding
from .param import Param, Value

if TYPE_CHECKING:
    from .observation import Observation

_ID = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)


@dataclass(frozen=True)
class Select:
    """The tensors that a rule looks at: the union of the lists, without `exclude`; all tensors if they are empty.

    Attributes:
        collections: Names of collections of the recording.
        include, exclude: Regular expressions, found anywhere in a node's name.
        op_types: Such as "aten::relu".
        nodes, scopes: Full names.
        patterns: Names with * (within a scope) and ** (across scopes).
        categories: "weight", "gradient", "activation", "optimizer" or "other".
    """

    collections: Sequence[str] = ()
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    op_types: Sequence[str] = ()
    nodes: Sequence[str] = ()
    scopes: Sequence[str] = ()
    patterns: Sequence[str] = ()
    categories: Sequence[str] = ()

    def __post_init__(self) -> None:
        for each in fields(self):
            names = getattr(self, each.name)
            if isinstance(names, str) or not all(isinstance(name, str) for name in names):
                raise TypeError(f"{each.name}: expected a list of texts, not {names!r}")

    def lists(self) -> dict[str, list[str]]:
        """The lists that are not empty, by name."""
        return {name: list(getattr(self, name)) for name in SELECTION_LISTS if getattr(self, name)}


@dataclass(frozen=True)
class Needs:
    """Which observations a rule needs.

    Attributes:
        tensors: Only those with a value: saved tensors, and tensors with one element.
        non_finite: Only those with NaN or infinities. This is much faster than to look at all in Python.
        steps: The steps of a rank instead of tensors; the series is then ("rank",) or ("rank", "mode").
    """

    tensors: bool = False
    non_finite: bool = False
    steps: bool = False


@dataclass(frozen=True)
class SeriesKey:
    """What the observations of a series have in common; None for what the rule's series does not distinguish."""

    rank: int | None = None
    tensor: str | None = None
    mode: str | None = None


class Rule:
    """A rule over series of observations. Subclasses set the class attributes and override `observe`.

    The observations of each series arrive in order of step, pass and execution. All memory of a rule
    is in the series' state, which can be pickled, so that series can be evaluated in any process.

    Attributes:
        id: Its name in files and on the command line: lower case, digits and underscores.
        title: What a finding means, as a sentence.
        params: Its parameters by name.
        select: The tensors that it looks at; None if each use must name them.
        needs: Which observations it needs.
        series: What distinguishes two series: some of "rank", "tensor", "mode".
        causes: Likely causes of a finding, the most likely first.
        next: What to look at or to try next.
        values: Of an instance: the values of its parameters by name.
    """

    id: ClassVar[str] = ""
    title: ClassVar[str] = ""
    params: ClassVar[Mapping[str, Param]] = {}
    select: ClassVar[Select | None] = Select()
    needs: ClassVar[Needs] = Needs()
    series: ClassVar[Sequence[str]] = SERIES_PARTS
    causes: ClassVar[Sequence[str]] = ()
    next: ClassVar[Sequence[str]] = ()

    def __init__(self, **values: Value) -> None:
        """Makes a rule with these values of its parameters.

        Raises:
            RuleError: The class is invalid, or a value does not fit.
        """
        check_class(type(self))
        self.values: dict[str, Any] = values_of(self.params, values)
        try:
            self.check()
        except ValueError as error:
            raise RuleError(f"params: {self.id}: {error}") from None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.values.items())})"

    def check(self) -> None:
        """Override to check values that depend on each other. Raises ValueError if they do not fit."""

    def start(self, key: SeriesKey) -> Any:
        """The state of a series before its first observation. It must be picklable."""
        return None

    def observe(self, state: Any, now: Observation) -> tuple[Any, Finding | None]:
        """Looks at an observation.

        Args:
            state: The series' state.
            now: The observation.

        Returns:
            The new state, and a finding (see `finding`) while the rule matches: it is reported once per episode.

        Raises:
            NotRecorded: What the rule needs was not recorded: the observation counts as unknown, and the state stays.
        """
        raise NotImplementedError

    def tick(self, state: Any, seconds_since: float) -> tuple[Any, Finding | None]:
        """Called about once per second while a job runs, for rules on silence. Not called over recorded runs.

        Args:
            state: The series' state.
            seconds_since: Seconds since the series' last observation.
        """
        return state, None

    def finish(self, state: Any) -> Finding | None:
        """Called after the last observation of a series; a finding belongs to its step."""
        return None

    def finding(
        self,
        message: str,
        *,
        rank: int | None = None,
        tensor: str | None = None,
        mode: str | None = None,
        step: int = 0,
        **values: float | None,
    ) -> Finding:
        """A finding of this rule.

        Args:
            message: What was found, with the numbers.
            rank, tensor, mode, step: Where, if it is not the series and the step of the observation.
            values: The numbers by name.
        """
        return Finding(self.id, rank, tensor, mode, step, values, message)


def check_class(rule: type[Rule]) -> None:
    """Raises RuleError if the attributes of a class are invalid."""
    problem = _problem(rule)
    if problem:
        raise RuleError(f"class {rule.__name__}: {problem}")


def _problem(rule: type[Rule]) -> str:
    if not isinstance(rule.id, str) or not _ID.fullmatch(rule.id):
        return f"id: expected lower case letters, digits and underscores, not {rule.id!r}"
    if not isinstance(rule.title, str) or not rule.title:
        return "title: expected a text"
    if not isinstance(rule.params, Mapping) or not all(isinstance(each, Param) for each in rule.params.values()):
        return "params: expected graphdbg.Param objects by name"
    if rule.select is not None and not isinstance(rule.select, Select):
        return f"select: expected graphdbg.Select(...) or None, not {rule.select!r}"
    if not isinstance(rule.needs, Needs):
        return f"needs: expected graphdbg.Needs(...), not {rule.needs!r}"
    if isinstance(rule.series, str) or any(part not in SERIES_PARTS for part in rule.series):
        return f"series: expected some of {', '.join(SERIES_PARTS)}, not {rule.series!r}"
    if rule.needs.steps and ("tensor" in rule.series or "rank" not in rule.series):
        return 'series: a rule on steps needs ("rank",) or ("rank", "mode")'
    return ""


def values_of(params: Mapping[str, Param], given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of parameters: what is given, else their defaults.

    Raises:
        RuleError: A value does not fit, or there is no such parameter.
    """
    for name in given:
        if name not in params:
            raise RuleError(f"params.{name}: unknown key{nearest(name, list(params))}")
    return {name: _value(name, param, given.get(name)) for name, param in params.items()}


def _value(name: str, param: Param, value: Value | None) -> Value | None:
    chosen = param.default if value is None else value
    if chosen is None:
        if param.is_required:
            raise RuleError(f"params.{name}: required: {param.describe()}")
        return None
    try:
        return param.read(chosen)
    except ValueError as error:
        raise RuleError(f"params.{name}: {error}") from None
