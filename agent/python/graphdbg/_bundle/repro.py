"""Repeats the ops of a bundle, with PyTorch and safetensors only.

Each bundle of graphdbg contains this file beside the ops (tape.json), the memory that they start from
(leaves.safetensors) and the states of random number generators (random.safetensors, if they are needed); `graphdbg
replay` runs the same code. Nothing of tape.json is executed: it names operators that PyTorch knows, and values that are
read as JSON.

    python repro.py             repeats the ops, and compares the result with that of the job
    python repro.py float64     the same with every floating-point number in float64
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

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


# A tensor of tape.json: storage, type, sizes, strides and offset.
Key = tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class Call:
    """How an op is called: what it gets instead of a tensor that had this type in the job, and instead of a type."""

    tensor: Callable[[torch.Tensor, torch.dtype], torch.Tensor]
    dtype: Callable[[torch.dtype], torch.dtype]
    # As in the job.
    autocast: bool


AS_IN_THE_JOB = Call(lambda tensor, dtype: tensor.to(dtype), lambda dtype: dtype, autocast=True)


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
        random: The tensors of random.safetensors. Without them, random numbers are others than in the job.

    Raises:
        BadTape: The tape is damaged.
    """

    def __init__(
        self,
        tape: Any,
        leaves: dict[str, torch.Tensor],
        dtype: torch.dtype | None = None,
        device: str | None = None,
        random: dict[str, torch.Tensor] | None = None,
    ) -> None:
        check(tape)
        self._tape = tape
        self._leaves = leaves
        self._dtype = dtype
        self._device = device
        self._random = random or {}
        self._last_uses = _last_uses(tape)
        self._types = _types_of_storages(tape)
        self._storages: list[torch.Tensor | None] = [None] * len(tape["storages"])
        # Results, and for each storage that an op made, whether they have the layout that they had in the job.
        self._results: dict[Key, torch.Tensor] = {}
        self._results_of: dict[int, list[Key]] = {}
        self._other_layout: set[int] = set()

    def run(self) -> torch.Tensor:
        """Runs the ops and returns the output that the bundle is about.

        Raises:
            BadTape: The tape is damaged.
            CannotRun: An operator does not exist here, a device or memory is missing, or an op fails.
        """
        with _reported():
            for number, op in enumerate(self._tape["ops"]):
                self._run(op)
                self._release(number)
            return self._tensor(self._tape["target"]["output"]["tensor"]).detach()

    def steps(self) -> Iterator[tuple[Any, list[torch.Tensor | None]]]:
        """Runs the ops one by one: each as tape.json describes it, with its results, which later ops may overwrite.

        Raises:
            BadTape: The tape is damaged.
            CannotRun: As `run`.
        """
        for number, op in enumerate(self._tape["ops"]):
            with _reported():
                self._run(op)
                results = [each and self._tensor(each["tensor"]).detach() for each in op["results"]]
            yield op, results
            self._release(number)

    def run_to_target(self) -> None:
        """Runs the ops before that of the hit. Raises as `run`."""
        for number, op in enumerate(self._tape["ops"][: self._tape["target"]["op"]]):
            with _reported():
                self._run(op)
            self._release(number)

    def call_target(self, how: Call | None = None) -> torch.Tensor:
        """Calls the op of the hit, once the others have run, and returns the output that the bundle is about.

        Raises:
            BadTape: The tape is damaged.
            CannotRun: As `run`.
        """
        op = self._tape["ops"][self._tape["target"]["op"]]
        wanted = _key(self._tape["target"]["output"]["tensor"])
        with _reported():
            returned, written = self._call(op, how or self._usual(op))
        for described, tensor in zip(op["results"], returned, strict=False):
            if described is not None and _key(described["tensor"]) == wanted:
                return tensor.detach()
        if wanted not in written:
            raise CannotRun(f"{op['op']} does not return the output by itself")
        return written[wanted].detach()

    def inputs(self, op: Any) -> Iterator[tuple[str, Any, torch.Tensor]]:
        """The tensors that an op is about to be called with: argument, as tape.json describes it, and tensor.

        Raises:
            BadTape: The tape is damaged.
            CannotRun: Memory is missing, or a device.
        """
        for argument in op["arguments"]:
            for each in described_tensors(argument["value"]):
                with _reported():
                    tensor = self._tensor(each)
                yield argument["name"], each, tensor

    def written_arguments(self, op: Any) -> set[str]:
        """The names of the arguments that an op writes to. Raises CannotRun if it does not exist here."""
        arguments = operator(op["op"])._schema.arguments
        return {each.name for each in arguments if each.alias_info and each.alias_info.is_write}

    def _run(self, op: Any) -> None:
        returned, _ = self._call(op, self._usual(op))
        for described, tensor in zip(op["results"], returned, strict=False):
            if described is not None:
                self._bind(described["tensor"], tensor.to(self._type(tensor.dtype)))

    def _usual(self, op: Any) -> Call:
        if self._dtype is not None and "state" in op:
            # Random numbers of another type would be other numbers.
            return AS_IN_THE_JOB
        return Call(lambda tensor, _: tensor, self._type, autocast=self._dtype is None)

    def _call(self, op: Any, how: Call) -> tuple[list[torch.Tensor], dict[Key, torch.Tensor]]:
        """Calls an op. Returns the tensors that it returns, in order, and those that it has written to."""
        function = operator(op["op"])
        writes = self.written_arguments(op)
        written: dict[Key, torch.Tensor] = {}
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        for argument in op["arguments"]:
            value = self._value(argument["value"], how, written if argument["name"] in writes else {})
            if argument["keyword"]:
                keywords[argument["name"]] = value
            else:
                positional.append(value)
        self._restore_generator(op)
        autocast = self._autocast(op, positional) if how.autocast else contextlib.nullcontext()
        # Some kernels make what their backward needs only if gradients are recorded.
        with torch.set_grad_enabled(op.get("grad") is True), autocast:
            try:
                returned = function(*positional, **keywords)
            except Exception as error:
                raise CannotRun(f"{op['op']} ({op['node']}): {str(error).splitlines()[0]}") from error
        for described in _all_tensors(op):
            new = written.get(_key(described))
            if new is not None and new.data_ptr() != (old := self._tensor(described)).data_ptr():
                old.copy_(new)
        return _tensors(returned), written

    def _restore_generator(self, op: Any) -> None:
        """Gives the generator the state that it had before the op in the job."""
        state = self._random.get(op.get("state"))
        if state is None:
            return
        if state.numel() == torch.default_generator.get_state().numel():
            torch.default_generator.set_state(state)
        elif torch.cuda.is_available() and torch.device(self._device or "cuda").type == "cuda":
            torch.cuda.set_rng_state(state, self._device or "cuda")

    def _release(self, number: int) -> None:
        """Frees the memory that no op needs after this one."""
        for storage in self._last_uses.get(number, ()):
            self._storages[storage] = None
            for key in self._results_of.pop(storage, ()):
                self._results.pop(key, None)

    def _autocast(self, op: Any, positional: list[Any]) -> contextlib.AbstractContextManager[Any]:
        if op["autocast"] is None:
            return contextlib.nullcontext()
        device = next((each.device.type for each in _tensors(positional)), "cpu")
        autocast: contextlib.AbstractContextManager[Any] = torch.autocast(device, dtype=_dtype(op["autocast"]))
        return autocast

    def _bind(self, described: Any, tensor: torch.Tensor) -> None:
        number = described["storage"]
        # An op in place returns what it was called with.
        if self._tape["storages"][number] is not None or self._storages[number] is not None:
            return
        key = _key(described)
        self._storages[number] = _bytes_of(tensor)
        self._results[key] = tensor
        self._results_of.setdefault(number, []).append(key)
        layout = (list(tensor.stride()), tensor.storage_offset())
        if tensor.numel() > 1 and layout != (described["strides"], described["offset"]):
            self._other_layout.add(number)

    def _value(self, value: Any, how: Call, written: dict[Key, torch.Tensor]) -> Any:
        if not isinstance(value, dict):
            return value
        ((kind, content),) = value.items()
        if kind == "tensor":
            tensor = how.tensor(self._tensor(content), _dtype(content["dtype"]))
            written[_key(content)] = tensor
            return tensor
        if kind == "list":
            return [self._value(each, how, written) for each in content]
        if kind == "dtype":
            return how.dtype(_dtype(content))
        if kind == "device":
            return torch.device(self._device or content)
        if kind == "layout":
            return torch.strided
        if kind == "memory_format":
            return getattr(torch, content)
        if kind == "complex":
            return complex(*(self._value(each, how, {}) for each in content))
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
        # What is empty may become larger, in its own memory.
        return view.set_(storage.untyped_storage(), offset if all(sizes) else 0, sizes, strides)

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
            _require(isinstance(op.get("state", ""), str))
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


def _key(described: Any) -> Key:
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
    for op in tape["ops"]:
        for each in _all_tensors(op):
            types[each["storage"]].add(_dtype(each["dtype"]))
    return types


def _last_uses(tape: Any) -> dict[int, list[int]]:
    """By the number of an op, the storages that no later one uses."""
    last = {each["storage"]: number for number, op in enumerate(tape["ops"]) for each in _all_tensors(op)}
    last.pop(tape["target"]["output"]["tensor"]["storage"], None)
    uses: dict[int, list[int]] = {}
    for storage, number in last.items():
        uses.setdefault(number, []).append(storage)
    return uses


def _all_tensors(op: Any) -> Iterator[Any]:
    for argument in op["arguments"]:
        yield from described_tensors(argument["value"])
    for result in op["results"]:
        yield from described_tensors(result)


def described_tensors(value: Any) -> Iterator[Any]:
    """The tensors of a value of tape.json."""
    if isinstance(value, dict) and "tensor" in value:
        yield value["tensor"]
    elif isinstance(value, dict) and "list" in value:
        for each in value["list"]:
            yield from described_tensors(each)


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
    # Not needed where other code reads the files.
    from safetensors.torch import load_file

    directory = Path(__file__).resolve().parent
    tape = json.loads((directory / "tape.json").read_text())
    dtype = _dtype(arguments[0]) if arguments else None
    states = directory / "random.safetensors"
    random = load_file(states) if states.exists() else None
    output = Replay(tape, load_file(directory / "leaves.safetensors"), dtype, random=random).run()
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
