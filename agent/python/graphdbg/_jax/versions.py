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


def set_post_hook(hook: Callable[[Any, Any, Any, Any], None]) -> None:
    """Has `hook` called after each call on the fast path, and before it the one that JAX has for jax_debug_nans."""
    from jax._src import api

    state = getattr(api, "_post_hook_state", None)
    if state is None:
        holder = api.jax_jit.global_state()
        before = holder.post_hook
        holder.post_hook = _both(before, hook)
    else:
        before = state.get_global() if hasattr(state, "get_global") else None
        state.set_global(_both(before, hook))


def _both(first: Any, second: Any) -> Any:
    if first is None:
        return second

    def hook(*arguments: Any) -> None:
        first(*arguments)
        second(*arguments)

    return hook


def new_variable(aval: Any) -> Any:
    from jax._src import core

    try:
        return core.Var(aval)
    except TypeError:
        # Before 0.6 the first argument was a suffix of the name.
        return core.Var("", aval)


def frames(traceback: Any) -> list[tuple[str, int, str]]:
    """File, line and function of each frame of a traceback of XLA, the innermost first."""
    if traceback is None:
        return []
    return [(frame.file_name, frame.line_num, frame.function_name) for frame in traceback.frames]
