"""Which functions train, and where a step ends."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from . import names, structure, versions

# Functions with fewer equations are eager ops.
_FEW_EQUATIONS = 3


@dataclass(frozen=True)
class Role:
    """What a function does for the training.

    Attributes:
        trains: It has a backward pass.
        state: Numbers of outputs that are the next values of arguments, by the numbers of those.
        gradients: Its outputs contain gradients of arguments, which another function applies.
    """

    trains: bool
    state: dict[int, int]
    gradients: bool

    @property
    def steps(self) -> bool:
        """Whether a call of it is a step."""
        return self.trains and bool(self.state)

    @property
    def updates(self) -> bool:
        """Whether it may apply what another function has found."""
        return not self.trains and bool(self.state)


# Sums over devices, of any number of values, and what makes them averages, in arrays of all devices.
_SUMS = frozenset(("psum", "psum2", "psum_invariant"))
_AFTER_SUMS = frozenset(("broadcast_in_dim", "div", "mul", "reshape"))
_NUMBER = ((), "float32")
_NONE = Role(False, {}, False)


def role_of(closed: Any) -> Role:
    jaxpr = closed.jaxpr
    if len(jaxpr.eqns) < _FEW_EQUATIONS and not any(structure.inner_jaxprs(each) for each in jaxpr.eqns):
        return _NONE
    trains = any(_is_backward(each) for each in structure.all_equations(jaxpr))
    matching = _matching(jaxpr)
    if not matching:
        return Role(trains, {}, False)
    body = structure.body_of(jaxpr)
    last = [each for each in body.eqns if _is_backward(each) and not structure.is_loop(each)]
    backward = {variable for each in last for variable in each.outvars}
    makers = {variable: each for each in body.eqns for variable in each.outvars}
    gradients = trains and all(_is_gradient(body.outvars[output], backward, makers) for output in matching.values())
    return Role(trains, {} if gradients else matching, gradients)


def _is_backward(equation: Any) -> bool:
    return names.is_transposed(versions.stack_text(equation.source_info.name_stack))


def _is_gradient(atom: Any, backward: Collection[Any], makers: Mapping[Any, Any]) -> bool:
    """Whether the backward pass has computed a value, perhaps with an average over devices after it."""
    while atom not in backward:
        equation = makers.get(atom)
        if equation is None:
            return False
        if equation.primitive.name in _SUMS:
            atom = equation.invars[equation.outvars.index(atom)]
            continue
        inputs = [each for each in equation.invars if not hasattr(each, "val")]
        if equation.primitive.name not in _AFTER_SUMS or len(inputs) != 1:
            return False
        atom = inputs[0]
    return True


def _matching(jaxpr: Any) -> dict[int, int]:
    """Outputs that have the types of arguments, in the order of those; {} if only scalars have."""
    given = [type_of(variable.aval) for variable in jaxpr.invars]
    made = [type_of(atom.aval) for atom in jaxpr.outvars]
    blocks = SequenceMatcher(None, given, made, autojunk=False).get_matching_blocks()
    # A single number for itself is a loss rather than the next value of an argument.
    blocks = [each for each in blocks if any(type_ != _NUMBER for type_ in given[each.a : each.a + each.size])]
    pairs = {a + i: b + i for a, b, size in blocks for i in range(size)}
    # An output that is the argument itself is no result of the training.
    pairs = {a: b for a, b in pairs.items() if jaxpr.invars[a] is not jaxpr.outvars[b]}
    return pairs if any(_is_tensor(jaxpr.invars[a].aval) for a in pairs) else {}


def type_of(aval: Any) -> tuple[Any, str]:
    """Shape and dtype."""
    return getattr(aval, "shape", ()), str(getattr(aval, "dtype", aval))


def _is_tensor(aval: Any) -> bool:
    return bool(aval.shape) and aval.dtype.kind not in "iub" and structure.is_plain(aval)
