"""A model that lib/graphdbg-onnx has split into parts."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import protobuf
from .node_graph import NodeGraph

_SPLITTER = Path(__file__).resolve().parents[1] / "lib" / "graphdbg-onnx"


class CannotSplit(Exception):
    """The model cannot be split. The message gives the reason in one line."""


class Model:
    def __init__(self, folder: Path, name: str) -> None:
        """Reads the splitter's output in `folder`. All names of nodes start with `name`."""
        self.name = name
        found = json.loads((folder / "model.json").read_bytes())
        parts = (folder / "parts.bin").read_bytes()

        def part(place: list[int]) -> bytes:
            return parts[place[0] : place[0] + place[1]]

        self.declarations: list[dict[str, Any]] = found["declarations"]
        self.scopes: dict[str, str] = found["scopes"]
        self.findings: list[str] = found["findings"]
        # The folder of files that contain initializers.
        self.data_folder: str = found["data_folder"]
        self._header = part(found["header"])
        self.graph = NodeGraph(found["graph"], part)

    @classmethod
    def split(cls, file: str | os.PathLike[str], name: str, folder: Path) -> Model:
        """Splits the model in `file` into `folder`. Raises CannotSplit."""
        clean = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "GRAPHDBG_ENABLE")}
        command = [str(_SPLITTER), os.fspath(file), name, str(folder)]
        try:
            done = subprocess.run(command, env=clean, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        except OSError as error:
            raise CannotSplit(f"cannot run {_SPLITTER.name}: {error.strerror}") from None
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines()
            raise CannotSplit(lines[-1] if lines else f"{_SPLITTER.name} exited with code {done.returncode}")
        return cls(folder, name)

    def piece(self, graph: NodeGraph, begin: int, end: int, inputs: Mapping[str, str], outputs: Sequence[str]) -> bytes:
        """Encodes a model of a graph's nodes in [begin, end). `inputs` has the types of its inputs by name."""
        nodes = graph.nodes[begin:end]
        parts = [protobuf.field(protobuf.GRAPH_NAME, f"{begin}-{end}".encode())]
        parts += [protobuf.field(protobuf.GRAPH_NODE, node.part) for node in nodes]
        for name in sorted({name for node in nodes for name in node.reads}.union(outputs)):
            if name in graph.initializers:
                parts.append(protobuf.field(protobuf.GRAPH_INITIALIZER, graph.initializers[name].part))
        for name, type_name in inputs.items():
            parts.append(protobuf.field(protobuf.GRAPH_INPUT, protobuf.value(name, type_name)))
        parts += [protobuf.field(protobuf.GRAPH_OUTPUT, protobuf.value(name)) for name in outputs]
        return self._header + protobuf.field(protobuf.MODEL_GRAPH, b"".join(parts))
