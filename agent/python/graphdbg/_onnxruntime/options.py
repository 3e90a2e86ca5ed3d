"""Recognizes SessionOptions that replace initializers, which cannot be read back from them."""

from __future__ import annotations

import functools
import weakref
from typing import Any

# Each of these methods gives a model other weights than its file contains.
_REPLACING = ("add_initializer", "add_external_initializers", "add_external_initializers_from_files_in_memory")


class ReplacedInitializers:
    """The set of SessionOptions that replace initializers."""

    def __init__(self) -> None:
        self._options: weakref.WeakSet[Any] = weakref.WeakSet()

    def __contains__(self, options: Any) -> bool:
        return options is not None and options in self._options

    def watch(self, options_class: Any) -> None:
        """Wraps the methods of the class that replace initializers."""
        for name in _REPLACING:
            if hasattr(options_class, name):
                setattr(options_class, name, self._recording(getattr(options_class, name)))

    def _recording(self, method: Any) -> Any:
        @functools.wraps(method)
        def wrapper(options: Any, *args: Any, **kwargs: Any) -> Any:
            self._options.add(options)
            return method(options, *args, **kwargs)

        return wrapper
