"""Parses the expressions of rules, as agent/conditions/series_expression.h describes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from graphdbg.client.errors import USAGE, GraphdbgError

from .measures import unknown_name

MAX_BYTES = 1000
MAX_DEPTH = 32
MAX_STACK = 32
MAX_WINDOW = 1000

FUNCTIONS = ("abs", "log10", "sqrt")
FOLDS = ("min", "max")
# By name: whether the argument, and so the result, is a condition.
SERIES_FUNCTIONS = {"prev": False, "mean_before": False, "min_before": False, "max_before": False, "held": True}

_TOKEN = re.compile(r"[A-Za-z_]\w*|[\d.](?:[\w.]|(?<=[eE])[+-])*|<=|>=|==|!=|&&|\|\||.", re.ASCII | re.DOTALL)
_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_RELATIONS = ("<", "<=", ">", ">=", "==", "!=")
_HINTS = {"=": "write == to compare", "&": 'write && for "and"', "and": 'write && for "and"'}
_HINTS |= {"|": 'write || for "or"', "or": 'write || for "or"', "not": 'write ! for "not"'}


class ExpressionError(GraphdbgError):
    """An expression is invalid.

    Attributes:
        column: Where, from 1.
    """

    code = "invalid_expression"

    def __init__(self, column: int, message: str) -> None:
        super().__init__(f"column {column}: {message}", USAGE)
        self.column = column


@dataclass(frozen=True)
class Number:
    """A number of the text."""

    value: float


@dataclass(frozen=True)
class Name:
    """A statistic, or a value of `reduce`."""

    name: str


@dataclass(frozen=True)
class Unary:
    """An operator "-" or "!", or a function of one number."""

    operator: str
    operand: Part


@dataclass(frozen=True)
class Binary:
    """An operator between two operands, or "min" or "max" of two."""

    operator: str
    left: Part
    right: Part


@dataclass(frozen=True)
class Series:
    """A function over the last observations of its argument."""

    function: str
    argument: Part
    window: int


Part = Number | Name | Unary | Binary | Series


def parse(text: str, names: Sequence[str]) -> Part:
    """Parses a condition.

    Args:
        text: The expression.
        names: The names that it may use.

    Raises:
        ExpressionError: It is invalid; the message names the column.
    """
    return _Parser(text, names).parse()


def names_of(part: Part) -> list[str]:
    """The names that occur, once each, in their order in the text."""
    if isinstance(part, Name):
        return [part.name]
    children: Sequence[Part] = ()
    if isinstance(part, Unary):
        children = (part.operand,)
    elif isinstance(part, Binary):
        children = (part.left, part.right)
    elif isinstance(part, Series):
        children = (part.argument,)
    return list(dict.fromkeys(name for child in children for name in names_of(child)))


def _height(part: Part) -> int:
    """How many numbers a machine keeps at once to evaluate it."""
    if isinstance(part, Unary):
        return _height(part.operand)
    if isinstance(part, Series):
        return _height(part.argument)
    if isinstance(part, Binary):
        return max(_height(part.left), 1 + _height(part.right))
    return 1


@dataclass(frozen=True)
class _Typed:
    part: Part
    is_condition: bool
    column: int


class _Parser:
    def __init__(self, text: str, names: Sequence[str]) -> None:
        self._text = text
        self._names = names
        self._tokens = [(match.start() + 1, match[0]) for match in _TOKEN.finditer(text) if not match[0].isspace()]
        self._at = 0
        self._depth = 0
        self._in_series_function = False

    def parse(self) -> Part:
        if len(self._text.encode()) > MAX_BYTES:
            raise ExpressionError(MAX_BYTES + 1, f"the expression is longer than {MAX_BYTES} characters")
        if not self._tokens:
            raise ExpressionError(1, "the expression is empty")
        whole = self._or()
        if self._token:
            raise self._error(_HINTS.get(self._token, f'unexpected "{self._token}"'))
        self._want(whole, True, "a rule")
        if _height(whole.part) > MAX_STACK:
            raise ExpressionError(1, "the expression is too complex")
        return whole.part

    @property
    def _token(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    @property
    def _column(self) -> int:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else len(self._text) + 1

    def _error(self, message: str) -> ExpressionError:
        return ExpressionError(self._column, message)

    def _take(self, token: str) -> bool:
        taken = self._token == token
        self._at += taken
        return taken

    def _expect(self, token: str, why: str) -> None:
        if not self._take(token):
            raise self._error(_HINTS.get(self._token, f'expected "{token}" {why}'))

    def _want(self, found: _Typed, condition: bool, by: str) -> Part:
        if found.is_condition == condition:
            return found.part
        message = (
            f"this is a number, but {by} requires a condition, for example abs_max > 1"
            if condition
            else f"this is a condition, but {by} requires a number"
        )
        raise ExpressionError(found.column, message)

    def _or(self) -> _Typed:
        return self._chain(("||",), self._and, True)

    def _and(self) -> _Typed:
        return self._chain(("&&",), self._relation, True)

    def _sum(self) -> _Typed:
        return self._chain(("+", "-"), self._product, False)

    def _product(self) -> _Typed:
        return self._chain(("*", "/"), self._unary, False)

    def _chain(self, operators: Sequence[str], operand: Callable[[], _Typed], condition: bool) -> _Typed:
        first = operand()
        found = first
        while self._token in operators:
            operator = self._token
            left = self._want(found, condition, operator)
            self._at += 1
            right = self._want(operand(), condition, operator)
            found = _Typed(Binary(operator, left, right), condition, first.column)
        return found

    def _relation(self) -> _Typed:
        left = self._sum()
        operator = self._token
        if operator not in _RELATIONS:
            return left
        first = self._want(left, False, operator)
        self._at += 1
        second = self._want(self._sum(), False, operator)
        if self._token in _RELATIONS:
            raise self._error("comparisons do not chain: write a < b && b < c")
        return _Typed(Binary(operator, first, second), True, left.column)

    def _unary(self) -> _Typed:
        column = self._column
        if self._depth >= MAX_DEPTH:
            raise self._error(f"nested more than {MAX_DEPTH} levels deep")
        self._depth += 1
        if self._take("-"):
            found = _Typed(Unary("-", self._want(self._unary(), False, "-")), False, column)
        elif self._take("!"):
            operand = self._want(self._unary(), True, "! (put a comparison in parentheses)")
            found = _Typed(Unary("!", operand), True, column)
        else:
            found = self._primary()
        self._depth -= 1
        return found

    def _primary(self) -> _Typed:
        column, token = self._column, self._token
        if self._take("("):
            inner = self._or()
            self._expect(")", "to close the parenthesis")
            return _Typed(inner.part, inner.is_condition, column)
        if token[:1].isdigit() or token[:1] == ".":
            return _Typed(self._number(token), False, column)
        if re.match(r"[A-Za-z_]", token):
            return self._name(token)
        if not token:
            raise self._error("the expression is incomplete")
        raise self._error(_HINTS.get(token, f'expected a number or a statistic, not "{token}"'))

    def _number(self, token: str) -> Number:
        if not _NUMBER.fullmatch(token):
            raise self._error(f'"{token}" is not a number')
        value = float(token)
        mantissa = re.split("[eE]", token)[0]
        if value == float("inf") or (value == 0 and mantissa.strip("0.")):
            raise self._error(f"{token} is out of range for float64")
        self._at += 1
        return Number(value)

    def _name(self, token: str) -> _Typed:
        column = self._column
        if self._at + 1 < len(self._tokens) and self._tokens[self._at + 1][1] == "(":
            return self._call(token)
        if token not in self._names:
            raise self._error(_HINTS.get(token, unknown_name(token, self._names)))
        self._at += 1
        return _Typed(Name(token), False, column)

    def _call(self, function: str) -> _Typed:
        known = (*FUNCTIONS, *FOLDS, *SERIES_FUNCTIONS)
        if function not in known:
            message = f'unknown function "{function}"; expected one of {", ".join(known)}'
            raise self._error(_HINTS.get(function, message))
        if function in SERIES_FUNCTIONS:
            return self._series_function(function)
        column = self._column
        self._at += 2
        arguments = [self._want(self._or(), False, function)]
        while self._take(","):
            arguments.append(self._want(self._or(), False, function))
        if function in FUNCTIONS and len(arguments) > 1:
            raise ExpressionError(column, f"{function} takes one number")
        if function in FOLDS and len(arguments) < 2:
            raise ExpressionError(
                column,
                f"{function} takes two or more numbers; for the statistic of the tensor, write {function} without "
                "parentheses",
            )
        self._expect(")", f"to close {function}(")
        if function in FUNCTIONS:
            return _Typed(Unary(function, arguments[0]), False, column)
        part = arguments[0]
        for each in arguments[1:]:
            part = Binary(function, part, each)
        return _Typed(part, False, column)

    def _series_function(self, function: str) -> _Typed:
        column, condition = self._column, SERIES_FUNCTIONS[function]
        if self._in_series_function:
            raise self._error(f"{function} cannot occur within prev, mean_before, min_before, max_before or held")
        self._at += 2
        self._in_series_function = True
        argument = self._want(self._or(), condition, function)
        self._in_series_function = False
        self._expect(",", f"and the number of observations that {function} covers")
        token = self._token
        if not re.fullmatch(r"\d+", token, re.ASCII) or not 1 <= int(token) <= MAX_WINDOW:
            raise self._error(f'{function} covers a whole number from 1 to {MAX_WINDOW} of observations, not "{token}"')
        self._at += 1
        self._expect(")", f"to close {function}(")
        return _Typed(Series(function, argument, int(token)), condition, column)
