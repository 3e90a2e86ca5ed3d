"""Translates rules to SQL, for DuckDB and Spark.

Unknown is NULL. No operation raises an error in any engine: divisions, roots and logarithms
are guarded, and results that are NaN become NULL. A part that occurs several times in the
SQL of an operator, and the argument and the result of a window function, are columns of a
subquery of their own, so that the text does not grow exponentially.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from .definition import SERIES_PARTS, ExpressionRule
from .expression import Binary, Name, Number, Part, Series, Unary, names_of
from .measures import STEP_MEASURES, TENSOR_MEASURES, view_of

_NAN = "cast('NaN' as double)"
_INFINITY, _NEGATIVE_INFINITY = "cast('Infinity' as double)", "cast('-Infinity' as double)"
_SQL_OPERATORS = {"&&": "and", "||": "or", "==": "=", "!=": "<>"}
_WINDOW_FUNCTIONS = {"mean_before": "avg", "min_before": "min", "max_before": "max"}
_EXECUTION = ("rank", "tensor", "mode", "step", "pass", "iteration")


@dataclass(frozen=True)
class Limits:
    """The observations that are looked at.

    Attributes:
        first, last: Steps, both inclusive; None: no limit.
        ranks: None: all.
        tensors: Names of tensors; None: all.
    """

    first: int | None = None
    last: int | None = None
    ranks: Collection[int] | None = None
    tensors: Collection[str] | None = None

    def condition(self, table: str) -> str:
        """The condition for rows of a table of observations."""
        parts = ["true"]
        parts += [f"{table}.step >= {self.first}"] if self.first is not None else []
        parts += [f"{table}.step <= {self.last}"] if self.last is not None else []
        parts += [f"{table}.rank in ({_list(map(str, self.ranks))})"] if self.ranks is not None else []
        return " and ".join(parts)

    def tensor_condition(self) -> str:
        """The condition for the tensors of statistics. Nodes that are not in the graph have names such as #7."""
        if self.tensors is None:
            return "s.tensor not like '#%'"
        return f"s.tensor in ({_list(quoted(name) for name in self.tensors)})"


def quoted(text: str) -> str:
    """A text literal. Quotes and backslashes, which each engine escapes in its own way, become calls of `chr`."""
    parts = re.split(r"(['\\\\])", text)
    return " || ".join(f"chr({ord(part)})" if part in ("'", "\\") else f"'{part}'" for part in parts if part) or "''"


def _list(items: Iterable[str]) -> str:
    return ", ".join(items) or "null"


def findings_query(rule: ExpressionRule, limits: Limits, most: int) -> str:
    """A query for the first findings, in order: the series' keys, step, n, the used values, and `finding_count`.

    n is the number of the observation in its series, by which findings in several passes of a step are ordered.
    """
    translation = Translation(rule, limits)
    keys = ", ".join(translation.keys)
    values = ", ".join(column_of(name) for name in names_of(rule.expression()))
    fires = f"last_n is null or n - last_n > {rule.cool_down}"
    partition = f"partition by {keys} order by n" if keys else "order by n"
    return (
        f"select {''.join(f'{key}, ' for key in translation.keys)}step, n{f', {values}' if values else ''}, "
        f"count(*) over () as finding_count from "
        f"(select *, lag(n) over ({partition}) as last_n from ({translation.numbered}) where {translation.held}) "
        f"where {fires} "
        f"order by {', '.join(['step', *translation.keys, 'n'])} limit {most}"
    )


def counts_query(rule: ExpressionRule, limits: Limits) -> str:
    """A query for the numbers of observations, and of those for which nothing is known."""
    translation = Translation(rule, limits)
    # `held` is false where nothing is known.
    nothing = " and ".join(f"{column_of(name)} is null" for name in names_of(rule.expression())) or "false"
    return (
        "select count(*) as observations, "
        f"coalesce(sum(case when truth is null or (not truth and {nothing}) then 1 else 0 end), 0) as unknown "
        f"from ({translation.numbered})"
    )


@dataclass(frozen=True)
class _Sql:
    """An expression over the columns of a level.

    Attributes:
        text: The SQL, which needs no parentheses around it.
        level: The first level whose subquery has all the columns.
        is_atom: Whether it is a column or a literal.
    """

    text: str
    level: int
    is_atom: bool = False


class Translation:
    """A rule as a query of its observations. Levels are nested, because Spark takes long to plan `with`.

    Attributes:
        keys: The columns that distinguish series.
        numbered: The query. Its columns include `truth`, and `n`, the number of the observation in its series.
        held: A condition over `numbered`, whether the rule matches.
    """

    def __init__(self, rule: ExpressionRule, limits: Limits) -> None:
        self._rule = rule
        self._levels: list[list[str]] = []
        self._columns = 0
        expression = rule.expression()
        self.keys = keys_of(rule)
        if rule.observes_steps:
            self._order = "step, mode"
            observations = self._steps(names_of(expression), limits)
        else:
            self._order = "step" if rule.reduce else "step, pass, position"
            observations = self._reduced(limits) if rule.reduce else self._tensors(names_of(expression), limits)
        truth = self._translate(expression)
        query = observations
        for columns in self._levels[: truth.level]:
            query = f"select *, {', '.join(columns)} from ({query})"
        query = f"select *, {truth.text} as truth from ({query})"
        held, self.held = "", "truth"
        if rule.hold > 1:
            frame = self._window(rule.hold - 1, 0)
            held, self.held = f", sum(case when truth then 1 else 0 end) over ({frame}) as held", f"held = {rule.hold}"
        self.numbered = f"select *, row_number() over ({self._window()}) as n{held} from ({query})"

    # --- observations

    def _tensors(self, names: Sequence[str], limits: Limits) -> str:
        values = "".join(f", {TENSOR_MEASURES[name]} as {column_of(name)}" for name in names)
        join = ""
        for view in dict.fromkeys(filter(None, map(view_of, names))):
            # The last one, should there be several of an execution.
            numbered = f"row_number() over (partition by {', '.join(_EXECUTION)} order by position desc)"
            alias = view[0]
            join += f" left join (select * from (select *, {numbered} as copy from {view}) where copy = 1) {alias} on "
            join += " and ".join(f"{alias}.{key} = s.{key}" for key in _EXECUTION)
        return (
            "select s.rank as rank, s.tensor as tensor, s.mode as mode, s.step as step, s.pass as pass, "
            f"s.position as position{values} from statistics s{join} "
            f"where {limits.condition('s')} and {limits.tensor_condition()}"
        )

    def _steps(self, names: Sequence[str], limits: Limits) -> str:
        values = "".join(f", {STEP_MEASURES[name]} as {column_of(name)}" for name in names)
        return (
            f"select t.rank as rank, t.mode as mode, t.step as step{values} from steps t "
            f"where t.pass = 0 and {limits.condition('t')}"
        )

    def _reduced(self, limits: Limits) -> str:
        reductions = self._rule.reductions()
        measures = list(dict.fromkeys(each.measure for each in reductions.values()))
        inner = self._tensors(measures, limits)
        values = "".join(
            f", {_aggregate(each.aggregate, column_of(each.measure))} as reduced_{name}"
            for name, each in reductions.items()
        )
        keys = "".join(f"{key}, " for key in self.keys)
        names = ", ".join(f"reduced_{name} as {column_of(name)}" for name in reductions)
        return (
            f"select {keys}step, cast(step as double) as {column_of('step')}, {names} from "
            f"(select {keys}step{values} from ({inner}) group by {keys}step)"
        )

    # --- expressions

    def _window(self, before: int | None = None, until: int = 0) -> str:
        keys = f"partition by {', '.join(self.keys)} " if self.keys else ""
        frame = ""
        if before is not None:
            end = f"{until} preceding" if until else "current row"
            frame = f" rows between {before} preceding and {end}"
        return f"{keys}order by {self._order}{frame}"

    def _keep(self, part: _Sql) -> _Sql:
        """Makes a part a column."""
        if part.is_atom:
            return part
        self._columns += 1
        name = f"c{self._columns}"
        while len(self._levels) <= part.level:
            self._levels.append([])
        self._levels[part.level].append(f"{part.text} as {name}")
        return _Sql(name, part.level + 1, is_atom=True)

    def _translate(self, part: Part) -> _Sql:
        if isinstance(part, Number):
            return _Sql(f"cast('{part.value!r}' as double)", 0, is_atom=True)
        if isinstance(part, Name):
            return _Sql(column_of(part.name), 0, is_atom=True)
        if isinstance(part, Unary):
            return self._unary(part.operator, self._translate(part.operand))
        if isinstance(part, Binary):
            return self._binary(part.operator, self._translate(part.left), self._translate(part.right))
        return self._series(part)

    def _unary(self, operator: str, operand: _Sql) -> _Sql:
        if operator == "!":
            return _Sql(f"(not {operand.text})", operand.level)
        if operator == "-":
            return _Sql(f"(-{operand.text})", operand.level)
        if operator == "abs":
            return _Sql(f"abs({operand.text})", operand.level)
        x = self._keep(operand)
        if operator == "sqrt":
            return _Sql(f"case when {x.text} >= 0 then sqrt({x.text}) end", x.level)
        logarithm = f"case when {x.text} > 0 then log10({x.text}) when {x.text} = 0 then {_NEGATIVE_INFINITY} end"
        return _Sql(logarithm, x.level)

    def _binary(self, operator: str, left: _Sql, right: _Sql) -> _Sql:
        level = max(left.level, right.level)
        if operator in ("+", "-", "*"):
            return _Sql(f"nullif({left.text} {operator} {right.text}, {_NAN})", level)
        if operator in ("/", "min", "max"):
            a, b = self._keep(left), self._keep(right)
            level = max(a.level, b.level)
            if operator == "/":
                return _Sql(_quotient(a.text, b.text), level)
            function = "least" if operator == "min" else "greatest"
            known = f"{a.text} is not null and {b.text} is not null"
            return _Sql(f"case when {known} then {function}({a.text}, {b.text}) end", level)
        return _Sql(f"({left.text} {_SQL_OPERATORS.get(operator, operator)} {right.text})", level)

    def _series(self, part: Series) -> _Sql:
        x = self._keep(self._translate(part.argument))
        n = part.window
        if part.function == "prev":
            text = f"lag({x.text}, {n}) over ({self._window()})"
        elif part.function == "held":
            frame = self._window(n - 1, 0)
            text = f"(sum(case when {x.text} then 1 else 0 end) over ({frame}) = {n})"
        else:
            frame = self._window(n, 1)
            value = f"{_WINDOW_FUNCTIONS[part.function]}({x.text}) over ({frame})"
            text = f"case when count({x.text}) over ({frame}) = {n} then nullif({value}, {_NAN}) end"
        return self._keep(_Sql(text, x.level))


def keys_of(rule: ExpressionRule) -> list[str]:
    """The columns that distinguish the series of a rule."""
    known = ("rank", "mode") if rule.observes_steps else SERIES_PARTS
    return [key for key in known if key in rule.series]


def _quotient(a: str, b: str) -> str:
    """Zeros have no sign, as in agent/conditions/expression.cc."""
    return (
        f"case when {b} <> 0 then nullif({a} / {b}, {_NAN}) "
        f"when {b} = 0 and {a} > 0 then {_INFINITY} when {b} = 0 and {a} < 0 then {_NEGATIVE_INFINITY} end"
    )


def _aggregate(name: str, column: str) -> str:
    if name == "count":
        return f"cast(count({column}) as double)"
    return f"nullif({'avg' if name == 'mean' else name}({column}), {_NAN})"


def column_of(name: str) -> str:
    """The column of a value, whose name is no word of SQL."""
    return f"v_{re.sub('[^A-Za-z0-9_]', '_', name)}"
