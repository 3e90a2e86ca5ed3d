"""A model taken apart by lib/graphdbg-onnx (agent/adapters/onnxruntime)."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import protobuf

_SPLITTER = Path(__file__).resolve().parents[1] / "lib" / "graphdbg-onnx"


class CannotSplit(Exception):
    """The model cannot be taken apart; the message says why, in one line."""


@dataclass(frozen=True)
class Node:
    """An op at the top of the graph."""

    name: str
    # Its number among the declarations.
    declaration: int
    # Values in slot order, "" for those left out.
    inputs: list[str]
    outputs: list[str]
    # All that it reads, also inside of subgraphs.
    reads: list[str]
    part: bytes
    moves_values: bool


@dataclass(frozen=True)
class Initializer:
    value: str
    declaration: int
    # A number of onnx.TensorProto.DataType.
    element: int
    shape: list[int]
    # Where its values lie; None for strings.
    file: str | None
    offset: int
    part: bytes


class Model:
    def __init__(self, folder: Path, name: str) -> None:
        """What the splitter left in `folder`; all names of nodes begin with `name`."""
        self.name = name
        found = json.loads((folder / "model.json").read_bytes())
        parts = (folder / "parts.bin").read_bytes()

        def part(place: list[int]) -> bytes:
            return parts[place[0] : place[0] + place[1]]

        self.declarations: list[dict[str, Any]] = found["declarations"]
        self.scopes: dict[str, str] = found["scopes"]
        self.findings: list[str] = found["findings"]
        # The folder that initializers outside of pieces are looked for in.
        self.data_folder: str = found["data_folder"]
        self.inputs: dict[str, int] = {item["value"]: item["node"] for item in found["inputs"]}
        self.outputs: list[str] = found["outputs"]
        self._header = part(found["header"])
        self.nodes = [
            Node(n["name"], n["node"], n["inputs"], n["outputs"], n["reads"], part(n["part"]), n["moves_values"])
            for n in found["nodes"]
        ]
        self.initializers = {
            i["value"]: Initializer(
                i["value"], i["node"], i["element"], i["shape"], i.get("file"), i.get("offset", 0), part(i["part"])
            )
            for i in found["initializers"]
        }

    @classmethod
    def split(cls, file: str | os.PathLike[str], name: str, folder: Path) -> Model:
        """Takes the model in `file` apart into `folder`; CannotSplit if that fails."""
        clean = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "GRAPHDBG_ENABLE")}
        command = [str(_SPLITTER), os.fspath(file), name, str(folder)]
        try:
            done = subprocess.run(command, env=clean, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        except OSError as error:
            raise CannotSplit(f"cannot run {_SPLITTER.name}: {error.strerror}") from None
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines()
            raise CannotSplit(lines[-1] if lines else f"{_SPLITTER.name} ended with code {done.returncode}")
        return cls(folder, name)

    def piece(self, begin: int, end: int, inputs: Mapping[str, str], outputs: Iterable[str]) -> bytes:
        """A model of the nodes from `begin` to before `end`, with the types of its inputs."""
        nodes = self.nodes[begin:end]
        graph = [protobuf.field(protobuf.GRAPH_NAME, f"{begin}-{end}".encode())]
        graph += [protobuf.field(protobuf.GRAPH_NODE, node.part) for node in nodes]
        for name in sorted({name for node in nodes for name in node.reads}):
            if name in self.initializers:
                graph.append(protobuf.field(protobuf.GRAPH_INITIALIZER, self.initializers[name].part))
        for name, type_name in inputs.items():
            graph.append(protobuf.field(protobuf.GRAPH_INPUT, protobuf.value(name, type_name)))
        graph += [protobuf.field(protobuf.GRAPH_OUTPUT, protobuf.value(name)) for name in outputs]
        return self._header + protobuf.field(protobuf.MODEL_GRAPH, b"".join(graph))
