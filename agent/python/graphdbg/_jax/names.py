"""Scopes of equations and names of arguments."""

from __future__ import annotations

import re

# Stages of a step, which are the first parts of names.
FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"

_WRAPPER = re.compile(r"^[\w.<>-]*\((.*)\)$")
# Scopes that JAX itself enters.
_OWN_SCOPES = frozenset(("rematted_computation", "checkpoint", "while", "body", "cond", "closed_call", "shard_map"))
_STEP = re.compile(r"""\[(?P<quote>['"]?)(?P<key>.*?)(?P=quote)\]|\.(?P<name>\w+)""")
_ODD = re.compile(r"[\x00-\x1f\x7f]")


def is_transposed(stack: str) -> bool:
    """Whether an equation with this name stack belongs to a backward pass."""
    return "transpose(" in stack


def is_differentiated(stack: str) -> bool:
    return "jvp(" in stack or "transpose(" in stack or "linearize(" in stack


def scope_of(stack: str) -> str:
    """The modules in a name stack such as "transpose(jvp(MLP))/Dense_0", without its transformations."""
    parts = [_unwrapped(part) for part in _split(stack)]
    return "/".join(part for part in parts if part and part not in _OWN_SCOPES)


def _split(stack: str) -> list[str]:
    parts, depth, begin = [], 0, 0
    for i, character in enumerate(stack):
        depth += (character == "(") - (character == ")")
        if character == "/" and depth == 0:
            parts.append(stack[begin:i])
            begin = i + 1
    return [*parts, stack[begin:]]


def _unwrapped(part: str) -> str:
    while (match := _WRAPPER.match(part)) is not None:
        part = match.group(1)
    return cleaned(part)


def path_of(argument: str) -> str:
    """An argument's path such as "state.params['a'][0]" as "state/params/a/0"."""
    root = re.match(r"^[^.\[]*", argument)
    parts = [root.group() if root else ""]
    parts += [match.group("name") or match.group("key") for match in _STEP.finditer(argument)]
    return "/".join(cleaned(part.replace("/", ".")) for part in parts if part)


def cleaned(text: str) -> str:
    """A name without control characters."""
    return _ODD.sub("_", text)


class Names:
    """Numbers nodes of equal names."""

    def __init__(self) -> None:
        self._count: dict[str, int] = {}

    def unique(self, name: str) -> str:
        while True:
            number = self._count[name] = self._count.get(name, -1) + 1
            numbered = f"{name}_{number}" if number else name
            if numbered == name or numbered not in self._count:
                self._count.setdefault(numbered, 0)
                return numbered
