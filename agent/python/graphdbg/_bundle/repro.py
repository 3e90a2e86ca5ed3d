"""Repeats the ops of a bundle, with PyTorch and safetensors only.

Each bundle of graphdbg contains this file beside the ops (tape.json) and the memory that they start from
(leaves.safetensors); `graphdbg replay` runs the same code. Nothing of tape.json is executed: it names operators that
PyTorch knows, and values that are read as JSON.

    python repro.py             repeats the ops, and compares the result with that of the job
    python repro.py float64     the same with every floating-point number in float64
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

_NAME = re.compile(r"[a-z_0-9]+::[A-Za-z_0-9.]+")
_MAX_OPS = 100_000
_MAX_STORAGES = 1_000_000
_MAX_DEPTH = 8
# They open files, talk to other processes, or belong to the interpreter of TorchScript.
_REFUSED_OPS = ("aten::from_file", "aten::save", "aten::open", "aten::format")
_REFUSED_NAMESPACES = (
    "c10d",
    "_c10d_functional",
    "_c10d_functional_autograd",
    "prim",
    "profiler",
    "cuda",
    "static_runtime",
)


class BadTape(Exception):
    """The tape is damaged, or not made by graphdbg."""


class CannotRun(Exception):
    """The tape cannot run here."""


class Replay:
    """Runs a tape.

    Args:
        tape: The content of tape.json.
        leaves: The tensors of leaves.safetensors.
        dtype: The type that all floating-point numbers are converted to, such as torch.float64.
        device: The device that everything runs on, instead of those of the job.

    Raises:
        BadTape: The tape is damaged.
    """

    def __init__(
        self,
        tape: Any,
        leaves: dict[str, torch.Tensor],
        dtype: torch.dtype | None = None,
        device: str | None = None,
    ) -> None:
        check(tape)
        self._tape = tape
        self._leaves = leaves
        self._dtype = dtype
        self._device = device
        self._types = _types_of_storages(tape)
        self._storages: list[torch.Tensor | None] = [None] * len(tape["storages"])
        # Results, and for each storage that an op made, whether they have the layout that they had in the job.
        self._results: dict[tuple[Any, ...], torch.Tensor] = {}
        self._other_layout: set[int] = set()

    def run(self) -> torch.Tensor:
        """Runs the ops and returns the output that the bundle is about.

        Raises:
            BadTape: The tape is damaged.
            CannotRun: An operator does not exist here, a device or memory is missing, or an op fails.
        """
        with _reported():
            for op in self._tape["ops"]:
                self._run(op)
            return self._tensor(self._tape["target"]["output"]["tensor"]).detach()

    def steps(self) -> Iterator[tuple[Any, list[torch.Tensor | None]]]:
        """Runs the ops one by one: each as tape.json describes it, with its results, which later ops may overwrite.

        Raises:
            BadTape: The tape is damaged.
            CannotRun: As `run`.
        """
        for op in self._tape["ops"]:
            with _reported():
                self._run(op)
                results = [each and self._tensor(each["tensor"]).detach() for each in op["results"]]
            yield op, results

    def _run(self, op: Any) -> None:
        function = operator(op["op"])
        positional = [self._value(each["value"]) for each in op["arguments"] if not each["keyword"]]
        keywords = {each["name"]: self._value(each["value"]) for each in op["arguments"] if each["keyword"]}
        with self._autocast(op):
            try:
                returned = function(*positional, **keywords)
            except Exception as error:
                raise CannotRun(f"{op['op']} ({op['node']}): {str(error).splitlines()[0]}") from error
        for described, tensor in zip(op["results"], _tensors(returned), strict=False):
            if described is not None:
                self._bind(described["tensor"], tensor)

    def _autocast(self, op: Any) -> contextlib.AbstractContextManager[Any]:
        if op["autocast"] is None or self._dtype is not None:
            return contextlib.nullcontext()
        device = next((each.device.type for each in self._storages if each is not None), "cpu")
        autocast: contextlib.AbstractContextManager[Any] = torch.autocast(device, dtype=_dtype(op["autocast"]))
        return autocast

    def _bind(self, described: Any, tensor: torch.Tensor) -> None:
        number = described["storage"]
        if self._tape["storages"][number] is not None:
            return
        self._storages[number] = _bytes_of(tensor)
        self._results[_key(described)] = tensor
        layout = (list(tensor.stride()), tensor.storage_offset())
        if tensor.numel() > 1 and layout != (described["strides"], described["offset"]):
            self._other_layout.add(number)

    def _value(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        ((kind, content),) = value.items()
        if kind == "tensor":
            return self._tensor(content)
        if kind == "list":
            return [self._value(each) for each in content]
        if kind == "dtype":
            return self._type(_dtype(content))
        if kind == "device":
            return torch.device(self._device or content)
        if kind == "layout":
            return torch.strided
        if kind == "memory_format":
            return getattr(torch, content)
        if kind == "complex":
            return complex(*map(self._value, content))
        if kind == "number":
            return float(content)
        return content

    def _type(self, dtype: torch.dtype) -> torch.dtype:
        """The type that takes the place of another one."""
        if self._dtype is None:
            return dtype
        if dtype.is_complex:
            return torch.complex128 if self._dtype == torch.float64 else dtype
        return self._dtype if dtype.is_floating_point else dtype

    def _tensor(self, described: Any) -> torch.Tensor:
        known = self._results.get(_key(described))
        if known is not None:
            return known
        number = described["storage"]
        storage = self._storages[number]
        if storage is None:
            storage = self._storages[number] = self._start(number)
        if number in self._other_layout:
            raise CannotRun("an op has laid out its result in memory in another way than it did in the job")
        dtype = self._type(_dtype(described["dtype"]))
        sizes, strides, offset = described["sizes"], described["strides"], described["offset"]
        last = offset + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
        if all(sizes) and (last + 1) * dtype.itemsize > storage.numel():
            raise BadTape("a tensor exceeds its storage")
        view = torch.empty(0, dtype=dtype, device=storage.device)
        return view.set_(storage.untyped_storage(), offset, sizes, strides) if all(sizes) else view.new_empty(sizes)

    def _start(self, number: int) -> torch.Tensor:
        """The memory of a storage that the ops start from, as a vector of bytes."""
        storage = self._tape["storages"][number]
        if storage is None:
            raise BadTape("an op reads the result of one that has not run")
        device = torch.device(self._device or storage["device"])
        dtypes = self._types[number]
        if storage["leaf"] is None:
            wider = max((self._type(each).itemsize / each.itemsize for each in dtypes), default=1)
            return torch.zeros(math.ceil(storage["bytes"] * wider), dtype=torch.uint8, device=device)
        leaf = self._leaves.get(storage["leaf"])
        if leaf is None or leaf.dtype != torch.uint8 or leaf.dim() != 1 or leaf.numel() != storage["bytes"]:
            raise BadTape(f"the values of {storage['leaf']} are missing or have another size")
        leaf = leaf.clone().to(device)
        if all(self._type(each) == each for each in dtypes):
            return leaf
        if len(dtypes) != 1:
            raise CannotRun("memory that is read as several types cannot be converted to another one")
        (dtype,) = dtypes
        return _bytes_of(leaf.view(dtype).to(self._type(dtype)))


@contextlib.contextmanager
def _reported() -> Iterator[None]:
    """Without gradients; an op that fails raises CannotRun."""
    try:
        with torch.no_grad():
            yield
    except (RuntimeError, NotImplementedError, IndexError, TypeError, ValueError, MemoryError) as error:
        raise CannotRun(str(error).splitlines()[0] if str(error) else type(error).__name__) from error


def operator(name: str) -> Any:
    """The function of an operator, such as "aten::div.Tensor".

    Raises:
        BadTape: The name is none that a tape may have.
        CannotRun: There is no such operator here.
    """
    namespace, _, rest = name.partition("::")
    op, _, overload = rest.partition(".")
    base = f"{namespace}::{op}"
    if not _NAME.fullmatch(name) or base in _REFUSED_OPS or namespace in _REFUSED_NAMESPACES:
        raise BadTape(f"a tape cannot call {name!r}")
    known = torch._C._jit_get_schemas_for_operator(base)
    if not any(schema.overload_name == overload for schema in known):
        raise CannotRun(
            f"the bundle calls {name}, which this Python has not loaded; pass --import with the module that has it"
        )
    return getattr(getattr(getattr(torch.ops, namespace), op), overload or "default")


def check(tape: Any) -> None:
    """Raises BadTape if a tape does not have the form of tape.json."""
    try:
        if tape["format"] != 1 or tape["framework"] != "pytorch":
            raise BadTape("the tape has another format")
        if len(tape["ops"]) > _MAX_OPS or len(tape["storages"]) > _MAX_STORAGES:
            raise BadTape(f"the tape has more than {_MAX_OPS} ops or {_MAX_STORAGES} storages")
        count = len(tape["storages"])
        for storage in tape["storages"]:
            if storage is not None:
                _require(_is_size(storage["bytes"]) and isinstance(storage["device"], str))
                _require(storage["leaf"] is None or isinstance(storage["leaf"], str))
        for op in tape["ops"]:
            _require(isinstance(op["op"], str) and isinstance(op["node"], str))
            if not _NAME.fullmatch(op["op"]):
                raise BadTape(f"a tape cannot call {op['op']!r}")
            if op["autocast"] is not None:
                _dtype(op["autocast"])
            for argument in op["arguments"]:
                _require(isinstance(argument["name"], str) and argument["name"].isidentifier())
                _check_value(argument["value"], count, 0)
            for result in op["results"]:
                _check_value(result, count, 0)
        _check_value(tape["target"]["output"], count, 0)
        _require("tensor" in tape["target"]["output"] and 0 <= tape["target"]["op"] < len(tape["ops"]))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise BadTape(f"the tape is damaged: {error}") from None


def _require(valid: bool) -> None:
    if not valid:
        raise BadTape("the tape is damaged")


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**62


def _check_value(value: Any, storages: int, depth: int) -> None:
    if value is None or type(value) in (bool, int, float):
        return
    _require(isinstance(value, dict) and len(value) == 1 and depth < _MAX_DEPTH)
    ((kind, content),) = value.items()
    if kind == "tensor":
        _dtype(content["dtype"])
        sizes, strides = content["sizes"], content["strides"]
        _require(isinstance(sizes, list) and isinstance(strides, list) and len(sizes) == len(strides) <= 64)
        _require(all(map(_is_size, [*sizes, *strides, content["offset"], content["storage"]])))
        _require(content["storage"] < storages)
    elif kind == "list":
        _require(isinstance(content, list))
        for each in content:
            _check_value(each, storages, depth + 1)
    elif kind == "dtype":
        _dtype(content)
    elif kind == "memory_format":
        _require(content in ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d"))
    elif kind == "complex":
        _require(isinstance(content, list) and len(content) == 2)
        for each in content:
            _check_value(each, storages, depth + 1)
    elif kind == "number":
        _require(content in ("nan", "inf", "-inf"))
    else:
        _require(kind in ("device", "layout", "string") and isinstance(content, str))


def _dtype(name: Any) -> torch.dtype:
    found = getattr(torch, name) if isinstance(name, str) and name.isidentifier() and hasattr(torch, name) else None
    if not isinstance(found, torch.dtype):
        raise BadTape(f"there is no type {name!r}")
    return found


def _key(described: Any) -> tuple[Any, ...]:
    sizes, strides = tuple(described["sizes"]), tuple(described["strides"])
    return described["storage"], described["dtype"], sizes, strides, described["offset"]


def _tensors(value: Any) -> list[torch.Tensor]:
    """The tensors that an operator has returned, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [each for part in value for each in _tensors(part)] if isinstance(value, (list, tuple)) else []


def _bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor's whole storage as a vector of bytes."""
    storage = tensor.untyped_storage()
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage, 0, (storage.nbytes(),), (1,))


def _types_of_storages(tape: Any) -> list[set[torch.dtype]]:
    """The types as which each storage is read or written."""
    types: list[set[torch.dtype]] = [set() for _ in tape["storages"]]

    def add(value: Any) -> None:
        if isinstance(value, dict):
            if "tensor" in value:
                types[value["tensor"]["storage"]].add(_dtype(value["tensor"]["dtype"]))
            elif "list" in value:
                for each in value["list"]:
                    add(each)

    for op in tape["ops"]:
        for argument in op["arguments"]:
            add(argument["value"])
        for result in op["results"]:
            add(result)
    return types


def counts(tensor: torch.Tensor) -> dict[str, int]:
    """How many elements there are, and how many of them are NaN or infinite."""
    values = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    if values.is_floating_point() and values.dtype.itemsize == 1:
        values = values.float()
    nan, inf = torch.isnan(values), torch.isinf(values)
    return {
        "count": tensor.numel(),
        "nan_count": int(nan.sum()),
        "pos_inf_count": int((inf & (values > 0)).sum()) if values.is_floating_point() else 0,
        "neg_inf_count": int((inf & (values < 0)).sum()) if values.is_floating_point() else 0,
    }


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors have the same type, shape and bits."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return bool(torch.equal(_content(a), _content(b)))


def _content(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)


def _text(found: dict[str, int]) -> str:
    names = {"nan_count": "NaN", "pos_inf_count": "inf", "neg_inf_count": "-inf"}
    parts = [f"{found[key]} {name}" for key, name in names.items() if found[key]]
    return f"{', '.join(parts) or 'only finite elements'} of {found['count']} elements"


def main(arguments: list[str]) -> int:
    """Repeats the ops beside this file. Returns 0 if the result has values that are not finite, or its old bits."""
    directory = Path(__file__).resolve().parent
    tape = json.loads((directory / "tape.json").read_text())
    dtype = _dtype(arguments[0]) if arguments else None
    output = Replay(tape, load_file(directory / "leaves.safetensors"), dtype).run()
    found = counts(output)
    for op in tape["ops"]:
        source = f"   {op['source']['file']}:{op['source']['line']}" if op["source"] else ""
        print(f"{op['op']:32} {op['node']}{source}")
    print(f"result: {_text(found)}")
    expected = load_file(directory / "expected.safetensors").get("expected")
    same = expected is not None and same_bits(output.cpu(), expected)
    if expected is not None:
        print(f"in the job: {_text(counts(expected))}{', the same bits' if same else ''}")
    return 0 if same or any(found[key] for key in ("nan_count", "pos_inf_count", "neg_inf_count")) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
