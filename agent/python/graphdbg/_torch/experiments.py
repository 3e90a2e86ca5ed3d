"""Repeats a hit in the paused process. Called by _hooks, on the agent's thread, while nothing trains."""

from __future__ import annotations

import functools
import json
import mmap
import os
import zipfile
from typing import Any

import torch

from .._bundle.experiments import Outcome, Repeatable, conclusion, run_experiments
from .._bundle.repro import Replay
from .follow import ignored_ops

# Of the header before each member of a ZIP archive, and where it has the lengths of what follows.
_HEADER_BYTES, _NAME_BYTES, _EXTRA_BYTES = 30, slice(26, 28), slice(28, 30)


def run(file: int, ids: str) -> str:
    """Repeats the hit of a bundle, and returns what was found, as JSON.

    Args:
        file: A descriptor of the bundle, which this process has just written. It stays open.
        ids: Of experiments, separated by spaces; empty: all that make a difference.

    Raises:
        CannotRun: There is no such experiment.
    """
    bundle = _Bundle(file)
    manifest, tape = bundle.json("manifest.json"), bundle.json("tape.json")
    what = Repeatable(
        functools.partial(_replay, bundle, tape),
        manifest["hit"],
        bundle.tensors("expected.safetensors").get("expected"),
        frozenset(each["device"] for each in tape["storages"] if each),
    )
    with ignored_ops():
        outcomes = run_experiments(what, ids.split())
    return json.dumps(
        {
            "level": manifest["level"],
            "why_not_step": manifest.get("why_not_step"),
            "outcomes": [_described(each) for each in outcomes],
            "conclusion": conclusion(outcomes),
        }
    )


def _described(outcome: Outcome) -> dict[str, Any]:
    return {
        "experiment": outcome.id,
        "title": outcome.experiment,
        "fails": outcome.fails,
        "same_bits": outcome.same_bits,
        "bad_count": outcome.bad,
        "count": outcome.count,
        "text": outcome.text,
        "milliseconds": outcome.milliseconds,
    }


def _replay(bundle: _Bundle, tape: Any, dtype: str | None = None, device: str | None = None) -> Replay:
    random = bundle.tensors("random.safetensors")
    return Replay(tape, bundle.tensors("leaves.safetensors"), getattr(torch, dtype) if dtype else None, device, random)


class _Bundle:
    """A bundle in memory that is shared with its file."""

    def __init__(self, file: int) -> None:
        # Writable, as PyTorch wants it; nothing is written.
        self._bytes = memoryview(mmap.mmap(file, 0, access=mmap.ACCESS_COPY))
        with os.fdopen(os.dup(file), "rb") as copy, zipfile.ZipFile(copy) as archive:
            self._members = {info.filename: info for info in archive.infolist()}

    def _read(self, name: str) -> memoryview:
        info = self._members[name]
        header = self._bytes[info.header_offset : info.header_offset + _HEADER_BYTES]
        lengths = (int.from_bytes(header[each], "little") for each in (_NAME_BYTES, _EXTRA_BYTES))
        begin = info.header_offset + _HEADER_BYTES + sum(lengths)
        return self._bytes[begin : begin + info.file_size]

    def json(self, name: str) -> Any:
        return json.loads(bytes(self._read(name)))

    def tensors(self, name: str) -> dict[str, torch.Tensor]:
        """The tensors of a member in the form of safetensors; none if there is no such member."""
        if name not in self._members:
            return {}
        content = self._read(name)
        begin = 8 + int.from_bytes(content[:8], "little")
        described = json.loads(bytes(content[8:begin]))
        described.pop("__metadata__", None)
        return {key: _tensor(each, content[begin:]) for key, each in described.items()}


_TYPES = {
    "BOOL": torch.bool,
    "U8": torch.uint8,
    "I8": torch.int8,
    "I16": torch.int16,
    "I32": torch.int32,
    "I64": torch.int64,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F32": torch.float32,
    "F64": torch.float64,
    "C64": torch.complex64,
}


def _tensor(described: Any, data: memoryview) -> torch.Tensor:
    first, end = described["data_offsets"]
    if first == end:
        return torch.empty(described["shape"], dtype=_TYPES[described["dtype"]])
    # A copy has the alignment of the type.
    values = torch.frombuffer(data[first:end], dtype=torch.uint8).clone()
    return values.view(_TYPES[described["dtype"]]).reshape(described["shape"])
