"""Copies a function and puts a tap behind each of its equations."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Iterator
from typing import Any

from . import structure, versions


@functools.cache
def _primitive() -> tuple[Any, Any]:
    """The primitive of a tap, and the effect that keeps XLA from dropping it."""
    import jax
    from jax._src import core, effects
    from jax.interpreters import mlir

    class TapEffect(effects.Effect):  # type: ignore[misc]
        def __str__(self) -> str:
            return "Tap"

    for allowed in (effects.lowerable_effects, effects.control_flow_allowed_effects, effects.remat_allowed_effects):
        allowed.add_type(TapEffect)
    effect = TapEffect()
    primitive = core.Primitive("graphdbg_tap")
    primitive.multiple_results = True

    def abstract(value: Any, *, tap: int, passes: bool) -> tuple[list[Any], Any]:
        return ([value], core.no_effects) if passes else ([], {effect})

    def lower(context: Any, value: Any, *, tap: int, passes: bool) -> Any:
        name = "graphdbg_tap_pass" if passes else "graphdbg_tap_observe"
        return jax.ffi.ffi_lowering(name, has_side_effect=not passes)(context, value, tap=_int64(tap))

    primitive.def_effectful_abstract_eval(abstract)
    mlir.register_lowering(primitive, lower)
    return primitive, effect


def _int64(number: int) -> Any:
    import numpy as np

    return np.int64(number)


def with_taps(closed: Any, wanted: Collection[int], passes: bool) -> Any:
    """A copy of a closed jaxpr in which the values with these numbers are tapped.

    With `passes`, values pass through their taps; otherwise taps are beside the flow of
    data, which is faster, but impossible where there are several devices.
    """
    return closed.replace(jaxpr=_Copy(wanted, passes).of(closed.jaxpr))


class _Copy:
    def __init__(self, wanted: Collection[int], passes: bool) -> None:
        self._wanted = wanted
        self._passes = passes
        self._numbers = itertools.count()

    def of(self, jaxpr: Any) -> Any:
        from jax._src import core

        replaced: dict[Any, Any] = {}

        def read(atom: Any) -> Any:
            return replaced.get(atom, atom) if isinstance(atom, core.Var) else atom

        equations: list[Any] = []
        for equation in jaxpr.eqns:
            copy = self._copy_of(equation, [read(atom) for atom in equation.invars])
            taps = list(self._taps(equation, copy, replaced))
            if equation.primitive.name not in structure.DEBUG_CALLBACKS:
                equations += [copy, *taps]
        effects = set().union(*(each.effects for each in equations)) if equations else set()
        return jaxpr.replace(eqns=equations, outvars=[read(atom) for atom in jaxpr.outvars], effects=effects)

    def _copy_of(self, equation: Any, inputs: list[Any]) -> Any:
        names = structure.inner_parameters(equation)
        if not names:
            return equation.replace(invars=inputs, outvars=list(equation.outvars))
        inner = {name: self._inner(equation.params[name]) for name in names}
        effects = set().union(*(structure.opened(each).effects for value in inner.values() for each in _all(value)))
        return equation.replace(
            invars=inputs, outvars=list(equation.outvars), params={**equation.params, **inner}, effects=effects
        )

    def _inner(self, value: Any) -> Any:
        if isinstance(value, tuple | list):
            return type(value)(self._inner(each) for each in value)
        return value.replace(jaxpr=self.of(value.jaxpr)) if hasattr(value, "jaxpr") else self.of(value)

    def _taps(self, equation: Any, copy: Any, replaced: dict[Any, Any]) -> Iterator[Any]:
        from jax._src import core

        primitive, effect = _primitive()
        for slot, variable in enumerate(equation.outvars):
            if not structure.is_tappable(equation, variable):
                continue
            number = next(self._numbers)
            if number not in self._wanted:
                continue
            if isinstance(variable, core.DropVar):
                variable = copy.outvars[slot] = versions.new_variable(variable.aval)
            results = []
            if self._passes:
                results = [versions.new_variable(variable.aval)]
                replaced[variable] = results[0]
            yield equation.replace(
                invars=[variable],
                outvars=results,
                primitive=primitive,
                params={"tap": number, "passes": self._passes},
                effects=core.no_effects if self._passes else {effect},
            )


def _all(value: Any) -> Any:
    return value if isinstance(value, tuple | list) else (value,)
