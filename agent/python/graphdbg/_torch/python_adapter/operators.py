"""Properties of operators, read from their schemas once."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from ... import _c_api

# The list that the compiled adapter uses, too.
_KINDS = Path(__file__).resolve().parents[2] / "native" / "agent" / "adapters" / "pytorch" / "op_kinds.inc"

# By types of devices; all others are those of PrivateUse1.
_DISPATCH_KEYS = {"cpu": "CPU", "cuda": "CUDA", "mps": "MPS", "xpu": "XPU"}


@lru_cache(maxsize=1)
def _kinds() -> dict[str, set[str]]:
    kinds: dict[str, set[str]] = defaultdict(set)
    for kind, name in re.findall(r"^([A-Z_]+)\((\w+)\)$", _KINDS.read_text(), re.MULTILINE):
        kinds[kind].add(name)
    return kinds


class Op:
    """One overload of an operator."""

    def __init__(self, function: Any) -> None:
        schema = function._schema
        self.full_name: str = schema.name
        self.name = self.full_name.rpartition(":")[2]
        # The engine adds gradients in place if nothing else refers to them. Both
        # variants get the same name.
        self.backward_name = "add" if self.name == "add_" else self.name
        self._function = function
        # Kernels of these two run on every backend instead of the composition.
        explicit = ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
        self._is_composite = self._has_kernel("CompositeImplicitAutograd") and not any(map(self._has_kernel, explicit))
        self.returns_nothing = not schema.returns
        self._arguments = [(a.name, _is_written(a), bool(a.kwarg_only)) for a in schema.arguments]
        self.in_place = any(written and not keyword for _, written, keyword in self._arguments)
        written_tensors = (a for a in schema.arguments if _is_written(a) and _holds_tensors(a))
        self.is_node = any(_holds_tensors(r) for r in schema.returns) or next(written_tensors, None) is not None
        stem = self.name[:-1] if self.name.endswith("_") and len(self.name) > 1 else self.name
        kinds = _kinds()
        self.in_place &= stem not in kinds["RESHAPES"]
        self.fills = stem in kinds["FILLS"]
        # Only the first result is for the caller; the others are for the backward op.
        self.saves_for_backward = stem in kinds["AUXILIARY_RESULTS"]
        self.flags = _c_api.UNINITIALIZED if stem in kinds["UNINITIALIZED"] else 0
        self.flags |= _c_api.MOVES_VALUES if stem in kinds["MOVES_VALUES"] else 0
        if self.full_name.startswith("c10d::") and self.name.endswith("_"):
            self._read_collective()

    def _read_collective(self) -> None:
        """Collectives write to their first argument, which their schemas do not say."""
        self.in_place = True
        self._arguments[:1] = [(name, True, keyword) for name, _, keyword in self._arguments[:1]]

    def is_composite(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether the op is composed of others on the backend of these arguments."""
        if not self._is_composite:
            return False
        devices = {value.device.type for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)}
        # Among others than the CPU's, tensors of the CPU are only scalars.
        accelerators = devices - {"cpu"} or devices
        return not any(self._has_kernel(_DISPATCH_KEYS.get(device, "PrivateUse1")) for device in accelerators)

    def _has_kernel(self, key: str) -> bool:
        return bool(torch._C._dispatch_has_kernel_for_dispatch_key(self._function.name(), key))

    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[Any, bool, bool]]:
        """Yields each given argument, whether the op writes it, and whether it only writes it (out=)."""
        for i, (name, written, keyword) in enumerate(self._arguments):
            if i < len(args):
                yield args[i], written, written and keyword
            elif name in kwargs:
                yield kwargs[name], written, written and keyword


def _is_written(argument: Any) -> bool:
    return argument.alias_info is not None and bool(argument.alias_info.is_write)


def _holds_tensors(value: Any) -> bool:
    return "Tensor" in str(value.type)


def is_intentional_nonfinite(values: Iterator[Any]) -> bool:
    """Whether the caller asks for infinities or NaN: by a number, or by a scalar tensor."""
    return any(_is_infinite(value) for value in values)


def _is_infinite(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        number = value.dim() == 0 and value.is_floating_point() and value.device.type == "cpu"
        return number and math.isinf(value.item())
    return isinstance(value, float) and not math.isfinite(value)
