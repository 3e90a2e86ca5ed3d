"""What the JAX adapter reads from the parts of JAX that differ between versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pytest
from graphdbg._jax import versions


class Scope(NamedTuple):
    name: str


class Transform(NamedTuple):
    name: str


@dataclass
class NameStack:
    """As before JAX 0.7, where the text left out transformations that have no scope."""

    stack: tuple[Scope | Transform, ...]

    def __str__(self) -> str:
        return "/".join(each.name for each in self.stack if isinstance(each, Scope))


@pytest.mark.parametrize(
    ("stack", "text"),
    [
        ((), ""),
        ((Scope("net"),), "net"),
        ((Transform("jvp"),), "jvp()"),
        ((Transform("transpose"), Transform("jvp")), "transpose(jvp())"),
        ((Transform("jvp"), Scope("net"), Scope("layer")), "jvp(net)/layer"),
        ((Scope("net"), Transform("vmap")), "net/vmap()"),
    ],
)
def test_a_name_stack_has_its_transformations(stack: tuple[Scope | Transform, ...], text: str) -> None:
    assert versions.stack_text(NameStack(stack)) == text
