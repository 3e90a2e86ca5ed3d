"""Calls of functions of `jax.pmap` before JAX 0.8, which compiles them, and calls them, in a way of its own.

Newer versions make them of jit and `shard_map`. Here each gets a jaxpr like theirs: one
equation that takes and returns whole arrays, with the function for one device inside.
"""

from __future__ import annotations

import functools
import inspect
import threading
import weakref
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from .._log import warn_not_debugged
from . import versions

# Makes a call; see Calls in seam.py.
Call = Callable[[Any, tuple[Any, ...], dict[str, Any]], tuple[Any, bool]]


class Pmaps:
    def __init__(self, api: Any, pxla: Any, call: Call) -> None:
        self._api = api
        self._pxla = pxla
        self._call = call
        self._seen = _seen_class(pxla.ExecuteReplicated)
        # Functions by their executables, which JAX keeps as long as they may be called.
        self._functions: weakref.WeakKeyDictionary[Any, _Pmapped] = weakref.WeakKeyDictionary()
        self._local = threading.local()

    def install(self) -> None:
        """Sees all calls that are not on the fast path, of functions that are compiled from now on."""
        find, lower = self._pxla.xla_pmap_impl_lazy, self._pxla.lower_parallel_callable
        signature = inspect.signature(lower)

        @functools.wraps(lower)
        def lowered(*arguments: Any, **parameters: Any) -> Any:
            made = lower(*arguments, **parameters)
            try:
                self._local.lowered = _Pmapped(lower, signature.bind(*arguments, **parameters).arguments)
            except Exception as error:
                warn_not_debugged(f"cannot follow a function of pmap: {type(error).__name__}: {error}")
            return made

        @functools.wraps(find)
        def found(*arguments: Any, **parameters: Any) -> Any:
            self._local.lowered = None
            made = find(*arguments, **parameters)
            function, self._local.lowered = self._local.lowered, None
            return self._to_see(made, function)

        self._pxla.lower_parallel_callable = lowered
        self._pxla.xla_pmap_impl_lazy = found

    def clear(self) -> None:
        """Takes all functions off the fast path until their next call."""
        for function in list(self._api._pmap_cache_clears):
            function._cache_clear()

    def _to_see(self, made: Any, compiled: _Pmapped | None) -> Any:
        """What JAX is to call in place of what it has found, `compiled` being the function if it is new."""
        # Since 0.7 there are also constants, which come before the arguments.
        executable, constants = made if isinstance(made, tuple) else (made, ())
        if compiled is not None:
            self._functions[executable] = compiled
        # Without jit, there is a function of Python instead.
        function = self._functions.get(executable) if isinstance(executable, self._pxla.ExecuteReplicated) else None
        if function is None:
            return made

        def call(arguments: tuple[Any, ...]) -> tuple[Any, Any, bool]:
            def run(*arguments: Any, jaxpr: Any, donated_invars: Sequence[bool], name: str) -> Any:
                is_own = jaxpr is function.jaxpr and donated_invars == function.donated
                chosen, before = (executable, constants) if is_own else function.compiled(jaxpr, donated_invars)
                return chosen(*before, *arguments), chosen

            (outputs, chosen), fast = self._call(run, arguments[len(constants) :], function.parameters)
            return outputs, chosen, fast

        seen = self._seen(executable, call)
        return (seen, constants) if isinstance(made, tuple) else seen


def _seen_class(executable_class: Any) -> Any:
    class Seen(executable_class):  # type: ignore[misc]
        """An executable whose call is seen."""

        def __init__(self, executable: Any, call: Callable[[tuple[Any, ...]], tuple[Any, Any, bool]]) -> None:
            self._call = call
            self._become(executable)

        def __call__(self, *arguments: Any) -> Any:
            outputs, executable, fast = self._call(arguments)
            self._become(executable)
            # JAX puts it on the fast path, unless it has callbacks.
            self.has_host_callbacks = executable.has_host_callbacks or not fast
            return outputs

        def _become(self, executable: Any) -> None:
            for name in executable_class.__slots__:
                if name != "__weakref__":
                    setattr(self, name, getattr(executable, name))

    return Seen


class _Pmapped:
    """A function at certain types of its arguments, and its copies."""

    def __init__(self, lower: Callable[..., Any], given: dict[str, Any]) -> None:
        """`given` are the arguments that JAX has called `lower` with."""
        self._lower = lower
        # The function itself is not needed, and would never be released.
        self._given = {**given, "fun": SimpleNamespace(__name__=given["fun"].__name__)}
        self._closed = given["closed_jaxpr"]
        self.donated = tuple(given["donated_invars"])
        self.jaxpr = _of_whole_arrays(given)
        self.parameters = {"jaxpr": self.jaxpr, "donated_invars": self.donated, "name": given["name"]}
        self._compiled: weakref.WeakKeyDictionary[Any, dict[Sequence[bool], tuple[Any, Any]]]
        self._compiled = weakref.WeakKeyDictionary()

    def compiled(self, jaxpr: Any, donated: Sequence[bool]) -> tuple[Any, Any]:
        """The executable of `jaxpr` or of a copy of it, and the constants that its arguments follow."""
        known = self._compiled.setdefault(jaxpr, {})
        if donated not in known:
            closed = self._of_one_device(jaxpr)
            made = self._lower(**{**self._given, "closed_jaxpr": closed, "donated_invars": donated})
            known[donated] = made.compile().unsafe_call, getattr(made, "const_args", ())
        return known[donated]

    def _of_one_device(self, closed: Any) -> Any:
        from jax._src import core
        from jax._src.interpreters import partial_eval

        if closed is self.jaxpr:
            return self._closed
        inner = closed.jaxpr.eqns[0].params["call_jaxpr"]
        inner = core.remove_named_axis_effects(inner, {self._given["axis_name"]})
        return core.ClosedJaxpr(partial_eval.convert_invars_to_constvars(inner, len(closed.consts)), closed.consts)


def _of_whole_arrays(given: dict[str, Any]) -> Any:
    from jax._src import core
    from jax._src.interpreters import partial_eval, pxla

    closed = given["closed_jaxpr"]
    inner = closed.jaxpr
    constants = [versions.new_variable(each.aval) for each in inner.constvars]
    arguments = [versions.new_variable(aval) for aval in given["avals"]]
    axes = given["pci"].out_axes
    outputs = [
        versions.new_variable(_whole(atom.aval, axis, given["axis_size"]))
        for atom, axis in zip(inner.outvars, axes, strict=True)
    ]
    parameters = {
        "call_jaxpr": partial_eval.convert_constvars_jaxpr(inner),
        "axis_name": given["axis_name"],
        "in_axes": (*(None for _ in constants), *given["in_axes"]),
        "out_axes": axes,
        "name": given["name"],
    }
    equation = core.new_jaxpr_eqn([*constants, *arguments], outputs, pxla.xla_pmap_p, parameters, inner.effects)
    outer = inner.replace(constvars=constants, invars=arguments, outvars=outputs, eqns=[equation])
    return core.ClosedJaxpr(versions.with_argument_names(outer, given["fun"]), closed.consts)


def _whole(aval: Any, axis: int | None, size: int) -> Any:
    """The type of an array that has values of this type on the devices."""
    from jax._src import config

    if axis is None:
        return aval
    shape = list(aval.shape)
    # Unless a program wants what was before, the part on a device has the axis, too.
    if config.pmap_no_rank_reduction.value:
        shape[axis] = size
    else:
        shape.insert(axis, size)
    return aval.update(shape=tuple(shape))
