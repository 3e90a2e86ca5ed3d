"""Expressions of the debugger are read as its reference says, and nothing else is."""

from __future__ import annotations

import pytest
from graphdbg.cli.debugger import DebuggerError
from graphdbg.cli.debugger.expressions import Binary, Call, Field, Number, Reference, Slice, Unary, parse, parse_slice
from graphdbg.cli.debugger.tensor_views import expanded, slice_text, sliced_shape


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$", Reference("$")),
        ("out1", Reference("out1")),
        ("forward/0/fc/addmm:0", Reference("forward/0/fc/addmm:0")),
        ("0/weight", Reference("0/weight")),
        ("`name with spaces:0`", Reference("name with spaces:0")),
        ("weight[0, :, 10:20]", Reference("weight", "[0,:,10:20]")),
        ("weight[...,-1]", Reference("weight", "[...,-1]")),
        ("weight@-1", Reference("weight", step="previous")),
        ("weight@120", Reference("weight", step="120")),
        ("weight[0]@rank3", Reference("weight", "[0]", rank=3)),
        ("weight@rank3@-1[2:]", Reference("weight", "[2:]", "previous", 3)),
        ("weight.abs_max", Field(Reference("weight"), "abs_max")),
        ("weight@1.abs_max", Field(Reference("weight", step="1"), "abs_max")),
        ("1e3", Number(1000.0)),
        ("a - b", Binary("-", Reference("a"), Reference("b"))),
        ("a / b", Binary("/", Reference("a"), Reference("b"))),
        ("a/b", Reference("a/b")),
        ("--a", Reference("a")),
        ("-a**2", Unary(Binary("**", Reference("a"), Number(2.0)))),
        ("max(abs(a)) > 1e3", Binary(">", Call("max", (Call("abs", (Reference("a"),)),)), Number(1000.0))),
        ("a + b * c", Binary("+", Reference("a"), Binary("*", Reference("b"), Reference("c")))),
        ("(a - b)[0]", Slice(Binary("-", Reference("a"), Reference("b")), "[0]")),
        ("a[0][1:]", Slice(Reference("a", "[0]"), "[1:]")),
    ],
)
def test_what_an_expression_means(text: str, expected: object) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "there is no expression"),
        ("a +", "ends too early"),
        ("a b", "unexpected b"),
        ("(a", ") is missing"),
        ("a[0", "] is missing"),
        ("a[x]", "no slice"),
        ("a[1:2:3:4]", "no slice"),
        ("a@x", "@ is followed by"),
        ("a@-2", "only @-1"),
        ("(a + b)@-1", "@ follows the name"),
        ("a; import os", "unexpected ;"),
        ("`a", "` is missing"),
        ("a.", "ends too early"),
        ("(" * 100 + "a" + ")" * 100, "nested too deeply"),
        ("2" + "**2" * 100, "nested too deeply"),
        ("a" * 20_000, "at most"),
        ("1" + "+1" * 1000, "at most"),
    ],
)
def test_what_is_no_expression_is_refused_with_the_place(text: str, problem: str) -> None:
    with pytest.raises(DebuggerError, match="^.*" + problem.replace("(", r"\(").replace(")", r"\)")):
        parse(text)


def test_slices_are_those_of_numpy() -> None:
    assert parse_slice("[0,:,10:20]") == (0, slice(None), slice(10, 20))
    assert parse_slice("[...,-1]") == (..., -1)
    assert parse_slice("[::2]") == (slice(None, None, 2),)
    assert sliced_shape((4, 5, 30), "[0,:,10:20]") == (5, 10)
    assert sliced_shape((4, 5, 30), "[...,0]") == (4, 5)
    assert slice_text(expanded(parse_slice("[...,0]"), 3)) == "[:,:,0]"
    with pytest.raises(DebuggerError, match="no element 4 among 4"):
        sliced_shape((4,), "[4]")
    with pytest.raises(DebuggerError, match="2 dimensions, and the tensor has 1"):
        sliced_shape((4,), "[0,0]")
