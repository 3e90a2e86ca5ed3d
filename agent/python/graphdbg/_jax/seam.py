"""Where calls of jitted functions are seen.

Calls on JAX's fast path run in C++, and only a hook after them is called, which takes a
microsecond. All others go through one function of Python. A call of a followed function
is kept off the fast path as long as its values matter.
"""

from __future__ import annotations

import functools
import threading
import weakref
from typing import Any, Protocol

from . import versions
from .pmaps import Pmaps


class Calls(Protocol):
    def call(self, original: Any, arguments: tuple[Any, ...], parameters: dict[str, Any]) -> tuple[Any, bool]:
        """Makes a call. Returns the result, and whether later calls may take the fast path with what is compiled."""

    def has_called(self, function: Any, arguments: Any, keywords: Any, outputs: Any) -> None:
        """A call has been made on the fast path."""


class Seam:
    def __init__(self, pjit: Any, calls: Calls) -> None:
        self._pjit = pjit
        self._calls = calls
        self._local = threading.local()
        # Functions that have been kept off the fast path since the last `clear`.
        self._slow: weakref.WeakSet[Any] = weakref.WeakSet()
        self._hook = versions.PostHook(calls.has_called)
        self.original = pjit._pjit_call_impl_python
        own = versions.own_pmap()
        self._pmaps = Pmaps(*own, self._see) if own is not None else None

    def install(self) -> None:
        """Sees all calls from now on."""
        original = self.original
        fast_path = self._pjit._get_fastpath_data

        @functools.wraps(original)
        def call(*arguments: Any, **parameters: Any) -> Any:
            result, fast = self._see(original, arguments, parameters)
            self._local.slow = not fast
            return result

        @functools.wraps(fast_path)
        def data(*arguments: Any, **keywords: Any) -> Any:
            slow, self._local.slow = getattr(self._local, "slow", False), False
            return None if slow else fast_path(*arguments, **keywords)

        self._pjit._pjit_call_impl_python = call
        self._pjit._get_fastpath_data = data
        if self._pmaps is not None:
            self._pmaps.install()
        self.clear()

    def _see(self, original: Any, arguments: tuple[Any, ...], parameters: dict[str, Any]) -> tuple[Any, bool]:
        result, fast = self._calls.call(original, arguments, parameters)
        self._hook.ensure()
        function = parameters["jaxpr"]
        if not fast:
            self._slow.add(function)
        elif function in self._slow:
            # JAX does not try again on its own.
            self.clear()
        return result, fast

    def clear(self) -> None:
        """Takes all functions off the fast path until their next call. Nothing is traced or compiled again."""
        self._slow.clear()
        self._pjit._cpp_pjit_cache_fun_only.clear()
        self._pjit._cpp_pjit_cache_explicit_attributes.clear()
        if self._pmaps is not None:
            self._pmaps.clear()
