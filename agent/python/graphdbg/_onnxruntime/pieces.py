"""Sessions of a model's pieces, kept from run to run."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from .model import Model
from .node_graph import NodeGraph
from .values import Value

# Options that can be read from one session and set for another.
_OPTIONS = (
    "enable_mem_pattern",
    "enable_mem_reuse",
    "execution_mode",
    "execution_order",
    "graph_optimization_level",
    "inter_op_num_threads",
    "intra_op_num_threads",
    "use_deterministic_compute",
)
# Configuration entries that change how nodes compute.
_ENTRIES = (
    "session.set_denormal_as_zero",
    "session.disable_prepacking",
    "session.disable_quant_qdq",
    "session.enable_quant_qdq_cleanup",
    "session.qdqisint8allowed",
    "session.enable_gelu_approximation",
    "session.disable_double_qdq_remover",
    "session.x64quantprecision",
    "session.disabled_optimizers",
    "mlas.enable_gemm_fastmath_arm64_bfloat16",
)
_DATA_FOLDER = "session.model_external_initializers_file_folder_path"


class Piece(NamedTuple):
    session: Any
    inputs: list[str]
    outputs: list[str]

    def run(self, values: Mapping[str, Value]) -> dict[str, Any]:
        """Runs the piece. Returns the OrtValues of its outputs by name."""
        if not self.outputs:
            return {}
        feeds = {name: values[name].passed_on() for name in self.inputs}
        return dict(zip(self.outputs, self.session.run_with_ort_values(feeds, self.outputs, None), strict=True))


class Pieces:
    def __init__(self, runtime: Any, model: Model, whole: Any) -> None:
        """Makes pieces of the model that the session `whole` runs, with its options and providers."""
        self._runtime = runtime
        self._model = model
        self._whole = whole
        self._options = self._make_options(whole.get_session_options())
        self._pieces: dict[tuple[NodeGraph, int, int, bool], Piece] = {}
        # Pieces without nodes, by the initializer's declaration.
        self._initializers: dict[int, Piece] = {}

    def _make_options(self, given: Any) -> Any:
        options = self._runtime.SessionOptions()
        for name in _OPTIONS:
            if hasattr(options, name):
                setattr(options, name, getattr(given, name))
        for key in _ENTRIES:
            with contextlib.suppress(Exception):
                options.add_session_config_entry(key, given.get_session_config_entry(key))
        # The program's own session has logged any warnings. Since there are many
        # pieces, they neither keep memory nor have threads that spin.
        options.log_severity_level = 4
        options.enable_cpu_mem_arena = False
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.add_session_config_entry("session.inter_op.allow_spinning", "0")
        options.add_session_config_entry(_DATA_FOLDER, self._model.data_folder)
        return options

    def get(self, graph: NodeGraph, begin: int, end: int, watched: bool, values: Mapping[str, Value]) -> Piece:
        """Returns the piece of a graph's nodes in [begin, end), from the cache if possible.

        A watched piece outputs all values of its nodes, others only the values that
        are read later. `values` contains the values that the piece reads.
        """
        piece = self._pieces.get((graph, begin, end, watched))
        if piece is None:
            nodes = graph.nodes[begin:end]
            produced = [name for node in nodes for name in node.outputs if name]
            outputs = produced if watched else [name for name in produced if graph.last_reader.get(name, -1) >= end]
            piece = self._pieces[graph, begin, end, watched] = self._make(graph, begin, end, outputs, values)
        return piece

    def initializer(self, graph: NodeGraph, name: str) -> Any:
        """The OrtValue of an initializer that the graph's nodes may read."""
        number = graph.initializers[name].declaration
        piece = self._initializers.get(number)
        if piece is None:
            piece = self._initializers[number] = self._make(graph, 0, 0, [name], {})
        return piece.run({})[name]

    def _make(self, graph: NodeGraph, begin: int, end: int, outputs: list[str], values: Mapping[str, Value]) -> Piece:
        nodes = graph.nodes[begin:end]
        reads = {name for node in nodes for name in node.reads}.difference(graph.initializers)
        inputs = sorted(reads.difference(name for node in nodes for name in node.outputs))
        if not outputs:
            return Piece(None, inputs, outputs)
        types = {name: values[name].passed_on().data_type() for name in inputs}
        session = self._runtime.InferenceSession(
            self._model.piece(graph, begin, end, types, outputs),
            self._options,
            providers=self._whole.get_providers(),
            provider_options=list(self._whole.get_provider_options().values()),
        )
        return Piece(session._sess, inputs, outputs)
