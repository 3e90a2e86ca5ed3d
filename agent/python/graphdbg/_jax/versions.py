"""The private parts of JAX that the adapter needs, for each supported version."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

_OLDEST, _NEWEST = (0, 5), (0, 10)
RANGE = "0.5 to 0.10"

# Parameters of a jitted call that the adapter reads or replaces.
_PARAMETERS = {"jaxpr", "donated_invars", "name"}


class Unsupported(Exception):
    """This JAX cannot be followed. The message gives the reason."""


def is_supported(version: str) -> bool:
    return _OLDEST <= tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) <= _NEWEST


def check(version: str, pjit: Any) -> None:
    """Raises Unsupported unless the adapter was made for this version."""
    if not is_supported(version):
        raise Unsupported(f"JAX {version} is not supported, only {RANGE}")
    call = getattr(pjit, "_pjit_call_impl_python", None)
    if call is None or not inspect.signature(call).parameters.keys() >= _PARAMETERS:
        raise Unsupported(f"JAX {version} calls jitted functions in an unknown way")
    for name in ("_get_fastpath_data", "_cpp_pjit_cache_fun_only", "_cpp_pjit_cache_explicit_attributes"):
        if not hasattr(pjit, name):
            raise Unsupported(f"JAX {version} has no {name}")


def own_pmap() -> tuple[Any, Any] | None:
    """The modules of JAX that define `pmap` and compile its functions; None where it is made of jit and shard_map."""
    from jax._src import api
    from jax._src.interpreters import pxla

    parts = (
        (api, "_pmap_cache_clears"),
        (pxla, "xla_pmap_impl_lazy"),
        (pxla, "lower_parallel_callable"),
        (pxla, "ExecuteReplicated"),
    )
    return (api, pxla) if all(hasattr(module, name) for module, name in parts) else None


class PostHook:
    """A function that JAX calls after each call on the fast path, as (function, arguments, keywords, outputs)."""

    def __init__(self, hook: Callable[[Any, Any, Any, Any], None]) -> None:
        self._hook = hook
        # The one that JAX has for jax_debug_nans, which is called first.
        self._before: Any = None

    def __call__(self, *arguments: Any) -> None:
        if self._before is not None:
            self._before(*arguments)
        self._hook(*arguments)

    def ensure(self) -> None:
        """Installs the hook for this thread. Where the program or a library sets jax_debug_nans, JAX removes it."""
        from jax._src import api

        state = getattr(api, "_post_hook_state", None)
        # Before 0.7 the hook was a property of the state of jitted functions.
        current = _older_hook(api.jax_jit) if state is None else state.value
        if current is self:
            return
        self._before = current
        if state is None:
            api.jax_jit.thread_local_state().post_hook = self
        else:
            # A thread may have a value of its own, which may be None.
            state.set_local(self)


def _older_hook(jax_jit: Any) -> Any:
    return jax_jit.thread_local_state().post_hook or jax_jit.global_state().post_hook


def stack_text(name_stack: Any) -> str:
    """A name stack such as "transpose(jvp(Net))/Dense"; transformations without a scope are "jvp()"."""
    text = str(name_stack)
    # Before 0.7 the text left these out.
    if "(" in text or not any(_is_transformation(each) for each in name_stack.stack):
        return text
    scopes: list[str] = []
    for each in reversed(name_stack.stack):
        if _is_transformation(each):
            scopes[:1] = [f"{each.name}({scopes[0] if scopes else ''})"]
        else:
            scopes.insert(0, each.name)
    return "/".join(scopes)


def _is_transformation(part: Any) -> bool:
    return type(part).__name__ == "Transform"


def new_variable(aval: Any) -> Any:
    from jax._src import core

    try:
        return core.Var(aval)
    except TypeError:
        # Before 0.6 the first argument was a suffix of the name.
        return core.Var("", aval)


def with_argument_names(jaxpr: Any, function: Any) -> Any:
    """The jaxpr of a function of `jax.pmap` with the names of its arguments, which 0.7 has with the function only."""
    names = getattr(getattr(function, "debug_info", None), "arg_names", None)
    debug_info = jaxpr.debug_info
    if debug_info is None or any(debug_info.arg_names or ()) or not names or len(names) != len(jaxpr.invars):
        return jaxpr
    return jaxpr.replace(debug_info=debug_info._replace(arg_names=names))


def frames(traceback: Any) -> list[tuple[str, int, str]]:
    """File, line and function of each frame of a traceback of XLA, the innermost first."""
    if traceback is None:
        return []
    return [(frame.file_name, frame.line_num, frame.function_name) for frame in traceback.frames]
