"""Graph files of MindSpore (`ms_output_*.pb`), shown as a dump that has a graph and no values."""

from __future__ import annotations

from pathlib import Path

# Fields of debugger.ModelProto and debugger.GraphProto, with the wire type.
_MODEL_GRAPH = 4 << 3 | 2
_GRAPH_NODE = 1 << 3 | 2


def is_graph_file(file: Path) -> bool:
    return file.suffix == ".pb"


def dump_of(file: Path, directory: Path) -> Path:
    """Writes a dump with the graph in `file` into the directory, and returns its path.

    The file has a GraphProto, as the debugger's messages do, or a ModelProto around it, as dumps do.
    """
    content = file.read_bytes()
    if content[:1] == bytes([_GRAPH_NODE]):
        content = bytes([_MODEL_GRAPH]) + _varint(len(content)) + content
    dump = directory / file.stem
    graphs = dump / "rank_0" / "graphs"
    graphs.mkdir(parents=True)
    (graphs / "ms_output_trace_code_graph_0.pb").write_bytes(content)
    return dump


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
