"""Which layers are called."""

from __future__ import annotations

import weakref
from typing import Any


class LayerCalls:
    """Notices calls of some layers. Until it is stopped, each call of a module takes longer."""

    def __init__(self) -> None:
        self._uncalled: weakref.WeakSet[Any] = weakref.WeakSet()
        self._handle: Any = None

    def watch(self, layer: Any) -> None:
        from torch.nn.modules.module import register_module_forward_pre_hook

        self._uncalled.add(layer)
        if self._handle is None:
            self._handle = register_module_forward_pre_hook(self._note)

    def _note(self, module: Any, args: Any) -> None:
        self._uncalled.discard(module)

    def was_called(self, layer: Any) -> bool:
        """Whether the layer has been called since it is watched."""
        return layer not in self._uncalled

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.remove()
            self._handle = None
