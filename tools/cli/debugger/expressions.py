"""Reads expressions about tensors. Nothing is ever executed as Python.

    expression := sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]
    sum        := product (("+" | "-") product)*
    product    := factor (("*" | " / " | "%") factor)*
    factor     := "-" factor | power
    power      := postfix ["**" factor]
    postfix    := primary ("[" slice "]" | "." FIELD | "." NAME "(" … ")" | "@" ("-" N | N | "rank" N))*
    primary    := NUMBER | NAME "(" expression ("," expression)* ")" | "(" expression ")" | reference
    reference  := "$" | NAME | "`" any characters "`"

A NAME may contain "/" and end with ":SLOT"; a "/" with spaces around it divides. Backquotes are for other names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .errors import DebuggerError

_MAX_DEPTH = 64
_MAX_LENGTH = 10_000
_MAX_TOKENS = 400
_SEGMENT = r"[A-Za-z0-9_]+"
_TOKENS = re.compile(
    r"(?P<space>\s+)"
    rf"|(?P<quoted>`[^`]+`)"
    rf"|(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:/{_SEGMENT})*(?::\d+)?|\d+(?:/{_SEGMENT})+(?::\d+)?|\$)"
    r"|(?P<number>(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<symbol>\*\*|<=|>=|==|!=|[-+*/%()<>\[\].,@:])"
)
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


@dataclass(frozen=True)
class Number:
    value: float


@dataclass(frozen=True)
class Reference:
    """A tensor: what it is called, and where it is from.

    Attributes:
        name: "$", or a name as it was written, without backquotes.
        slice: NumPy's basic indexing with its brackets; "" for the whole tensor.
        step: "previous" or a number; None: the current one.
        rank: None: the current one.
    """

    name: str
    slice: str = ""
    step: str | None = None
    rank: int | None = None


@dataclass(frozen=True)
class Field:
    """A statistic or property of a value, such as `.abs_max`."""

    target: Expression
    name: str


@dataclass(frozen=True)
class Slice:
    """A slice of a computed value."""

    target: Expression
    text: str


@dataclass(frozen=True)
class Unary:
    target: Expression


@dataclass(frozen=True)
class Binary:
    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Call:
    function: str
    arguments: tuple[Expression, ...]


_LIBRARIES = (Reference("torch"), Reference("np"), Reference("numpy"))
Expression = Number | Reference | Field | Slice | Unary | Binary | Call


def parse(text: str) -> Expression:
    """Reads an expression.

    Raises:
        DebuggerError: It is none; says where.
    """
    if not text.strip():
        raise DebuggerError("there is no expression")
    if len(text) > _MAX_LENGTH:
        raise DebuggerError(f"an expression has at most {_MAX_LENGTH} characters")
    return _Parser(text).whole()


def parse_slice(text: str) -> tuple[Any, ...]:
    """NumPy's basic indexing, with or without its brackets, as an index for an array.

    Raises:
        DebuggerError: It is none.
    """
    inner = text.strip().removeprefix("[").removesuffix("]")
    return tuple(_index(part.strip(), text) for part in inner.split(",") if part.strip() or "," not in inner)


def _index(part: str, whole: str) -> Any:
    if part == "...":
        return ...
    numbers = part.split(":")
    try:
        values = [int(number) if number.strip() else None for number in numbers]
    except ValueError:
        values = []
    if not values or len(values) > 3 or (len(values) == 1 and values[0] is None):
        raise DebuggerError(f"{whole} is no slice; write it as NumPy does: [0,:,10:20]")
    return values[0] if len(values) == 1 else slice(*values)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    begin: int
    end: int


class _Parser:
    """Recursive descent, one token ahead."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0

    def whole(self) -> Expression:
        found = self._comparison()
        if self._next.kind != "end":
            raise self._error()
        return found

    def _comparison(self) -> Expression:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise DebuggerError("the expression is nested too deeply")
        left = self._sum()
        if self._next.text in _COMPARISONS:
            operator = self._take().text
            left = Binary(operator, left, self._sum())
        self._depth -= 1
        return left

    def _sum(self) -> Expression:
        left = self._product()
        while self._next.text in ("+", "-"):
            operator = self._take().text
            left = Binary(operator, left, self._product())
        return left

    def _product(self) -> Expression:
        left = self._factor()
        while self._next.text in ("*", "/", "%"):
            operator = self._take().text
            left = Binary(operator, left, self._factor())
        return left

    def _factor(self) -> Expression:
        signs = 0
        while self._next.text == "-":
            self._take()
            signs += 1
        found = self._power()
        for _ in range(signs % 2):
            found = Unary(found)
        return found

    def _power(self) -> Expression:
        base = self._postfix()
        if self._next.text != "**":
            return base
        self._take()
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise DebuggerError("the expression is nested too deeply")
        found = Binary("**", base, self._factor())
        self._depth -= 1
        return found

    def _postfix(self) -> Expression:
        found = self._primary()
        while self._next.text in ("[", ".", "@"):
            symbol = self._take().text
            if symbol == "[":
                found = self._sliced(found)
            elif symbol == ".":
                found = self._field(found, self._expect("name").text)
            else:
                found = self._elsewhere(found)
        return found

    def _primary(self) -> Expression:
        token = self._next
        if token.kind == "number":
            return Number(float(self._take().text))
        if token.kind == "quoted":
            return Reference(self._take().text[1:-1])
        if token.text == "(":
            self._take()
            found = self._comparison()
            self._expect_text(")")
            return found
        if token.kind != "name":
            raise self._error()
        name = self._take().text
        return self._call(name) if self._next.text == "(" else Reference(name)

    def _field(self, target: Expression, name: str) -> Expression:
        if self._next.text != "(":
            return Field(target, name)
        # As in Python: torch.isnan(x), and x.isnan().
        return self._call(name, [] if target in _LIBRARIES else [target])

    def _call(self, name: str, given: Sequence[Expression] = ()) -> Expression:
        self._take()
        if given and self._next.text == ")":
            self._take()
            return Call(name, tuple(given))
        arguments = [*given, self._comparison()]
        while self._next.text == ",":
            self._take()
            arguments.append(self._comparison())
        self._expect_text(")")
        return Call(name, tuple(arguments))

    def _sliced(self, target: Expression) -> Expression:
        begin = self._next.begin
        end = self._text.find("]", begin)
        if end < 0:
            raise DebuggerError(f"] is missing: {self._text}")
        while self._next.begin < end:
            self._take()
        self._expect_text("]")
        text = f"[{self._text[begin:end]}]".replace(" ", "")
        parse_slice(text)
        if isinstance(target, Reference) and not target.slice:
            return Reference(target.name, text, target.step, target.rank)
        return Slice(target, text)

    def _elsewhere(self, target: Expression) -> Expression:
        if not isinstance(target, Reference):
            raise DebuggerError("@ follows the name of a tensor, as in weight@-1")
        token = self._take()
        if token.text == "-" and self._next.kind == "number":
            back = self._expect("number").text
            if back != "1":
                raise DebuggerError(f"@-{back}: only @-1, the previous step, is relative; write the number of the step")
            return Reference(target.name, target.slice, "previous", target.rank)
        if token.kind == "number" and token.text.isdigit():
            return Reference(target.name, target.slice, token.text, target.rank)
        rank = re.fullmatch(r"rank(\d+)", token.text)
        if rank:
            return Reference(target.name, target.slice, target.step, int(rank[1]))
        raise DebuggerError("@ is followed by -1, the number of a step, or rankN")

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self) -> _Token:
        token = self._tokens[self._at]
        if token.kind != "end":
            self._at += 1
        return token

    def _expect(self, kind: str) -> _Token:
        if self._next.kind != kind:
            raise self._error()
        return self._take()

    def _expect_text(self, text: str) -> None:
        if self._next.text != text or self._next.kind == "end":
            raise self._error(text)
        self._take()

    def _error(self, expected: str = "") -> DebuggerError:
        token = self._next
        if token.kind == "end":
            return DebuggerError(f"the expression ends too early{f': {expected} is missing' if expected else ''}")
        return DebuggerError(f"unexpected {token.text} in the expression, at character {token.begin + 1}")


def _tokens(text: str) -> Sequence[_Token]:
    tokens: list[_Token] = []
    at = 0
    while at < len(text):
        match = _TOKENS.match(text, at)
        if match is None:
            hint = "; names with other characters go in backquotes" if text[at] not in "`" else "; ` is missing"
            raise DebuggerError(f"unexpected {text[at]} in the expression, at character {at + 1}{hint}")
        kind = match.lastgroup or ""
        if kind != "space":
            tokens.append(_Token(kind, match[0], at, match.end()))
        at = match.end()
    if len(tokens) > _MAX_TOKENS:
        raise DebuggerError(f"an expression has at most {_MAX_TOKENS} names, numbers and symbols")
    tokens.append(_Token("end", "", at, at))
    return tokens
