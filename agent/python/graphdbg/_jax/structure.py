"""The parts of a jaxpr that matter for looking into it.

The adapter numbers the values of a function in the order in which `equations` visits
them, in the graph (program.py) and in the copy with taps (taps.py) alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

# Equations that only call a function: the equations inside are nodes, the call is none.
_CALLS = {
    "checkpoint": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "remat": "jaxpr",
    "remat2": "jaxpr",
    "shard_map": "jaxpr",
    "xla_pmap": "call_jaxpr",
}
# Those whose equations inside run on each of several devices.
OF_DEVICES = frozenset(("shard_map", "xla_pmap"))
_LOOPS = {"scan": ("jaxpr",), "while": ("cond_jaxpr", "body_jaxpr")}

# Callbacks that only show values. The copy of a function does not call them.
DEBUG_CALLBACKS = frozenset(("debug_callback", "debug_print"))
# Equations that must not run twice.
CALLBACKS = frozenset(("io_callback", "pure_callback", "python_callback", "infeed", "outfeed"))

# Effects that only say which axes of devices an equation names.
_HARMLESS = frozenset(("NamedAxisEffect",))

# Make numbers that are written into a function into arrays.
FROM_LITERALS = frozenset(("broadcast_in_dim", "convert_element_type", "copy", "copy_p", "neg", "reshape"))

MOVES_VALUES = frozenset(
    (
        "broadcast_in_dim",
        "concatenate",
        "copy",
        "copy_p",
        "cond",
        "device_put",
        "dynamic_slice",
        "dynamic_update_slice",
        "expand_dims",
        "gather",
        "optimization_barrier",
        "rev",
        "reshape",
        "scan",
        "select_n",
        "sharding_constraint",
        "slice",
        "squeeze",
        "split",
        "stop_gradient",
        "transpose",
        "while",
    )
)


def is_call(equation: Any) -> bool:
    return equation.primitive.name in _CALLS and _CALLS[equation.primitive.name] in equation.params


def is_loop(equation: Any) -> bool:
    return equation.primitive.name in _LOOPS


def is_branching(equation: Any) -> bool:
    return bool(equation.primitive.name == "cond")


def inner_parameters(equation: Any) -> tuple[str, ...]:
    """The names of the parameters whose jaxprs are looked into."""
    name = equation.primitive.name
    if is_call(equation):
        return (_CALLS[name],)
    if is_branching(equation):
        return ("branches",)
    return _LOOPS.get(name, ())


def inner_jaxprs(equation: Any) -> list[Any]:
    """The open jaxprs inside the equation that are looked into."""
    found: list[Any] = []
    for name in inner_parameters(equation):
        value = equation.params[name]
        found += [opened(each) for each in (value if isinstance(value, tuple | list) else (value,))]
    return found


def body_of(jaxpr: Any) -> Any:
    """The open jaxpr that does the work of a function, which may be no more than a call, as for several devices."""
    while len(jaxpr.eqns) == 1 and is_call(jaxpr.eqns[0]) and list(jaxpr.eqns[0].outvars) == list(jaxpr.outvars):
        jaxpr = inner_jaxprs(jaxpr.eqns[0])[0]
    return jaxpr


def opened(jaxpr: Any) -> Any:
    """The jaxpr without its constants."""
    return getattr(jaxpr, "jaxpr", jaxpr)


def all_equations(jaxpr: Any) -> Iterator[Any]:
    """Yields the equations of a jaxpr and, before each, those inside it."""
    for equation in jaxpr.eqns:
        for inner in inner_jaxprs(equation):
            yield from all_equations(inner)
        yield equation


def is_tappable(equation: Any, variable: Any) -> bool:
    """Whether the output of the equation is a tensor whose values can be copied."""
    aval = variable.aval
    if is_call(equation) or not hasattr(aval, "dtype") or not hasattr(aval, "shape"):
        return False
    return is_plain(aval)


def is_plain(aval: Any) -> bool:
    """Whether elements are numbers; keys of random generators, tokens and references have none."""
    is_number = getattr(aval.dtype, "kind", None) in _NUMBERS or aval.dtype.name in SMALL_FLOATS
    return type(aval).__name__ == "ShapedArray" and bool(is_number)


def is_nonfinite_literal(atom: Any) -> bool:
    """Whether an input of an equation is a number, written into the function, that is NaN or infinite."""
    try:
        return not math.isfinite(atom.val)
    except (AttributeError, TypeError, ValueError):
        return False


_NUMBERS = frozenset("biufc")
SMALL_FLOATS = frozenset(("bfloat16", "float8_e4m3fn", "float8_e5m2"))


def why_not_twice(jaxpr: Any) -> str | None:
    """The reason why a function must not run beside itself; None if it may."""
    for equation in all_equations(jaxpr):
        name = equation.primitive.name
        if name in CALLBACKS:
            return f"it calls back into Python ({name})"
        if name in DEBUG_CALLBACKS or inner_jaxprs(equation):
            continue
        if any(type(effect).__name__ not in _HARMLESS for effect in equation.effects):
            return f"{name} has side effects"
    return None
