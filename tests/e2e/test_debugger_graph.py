"""Names, lines, frames and completion of the debugger, on graphs that are made here."""

from __future__ import annotations

import pytest
from graphdbg.cli.debugger.completion import MAX_LISTED, complete_nodes
from graphdbg.cli.debugger.edit_distance import distance_within
from graphdbg.cli.debugger.frames import frames_of
from graphdbg.cli.debugger.graph_index import GraphIndex
from graphdbg.cli.debugger.selections import nodes_of, selection_of
from graphdbg.cli.debugger.small_graph import SmallNode, small_graph
from graphdbg.cli.debugger.source_lines import find_line, next_statement
from graphdbg.client.models import NodeDetail, Source

MODEL = '''import torch


class Net:
    def forward(self, x):
        """Of digits."""
        # The first layer.
        x = torch.relu(self.fc1(x.flatten(1)))

        for layer in self.layers:
            x = layer(x) + 1
        return x

    def loss(self, x):
        return x.mean()
'''


def node(name: str, line: int = 0) -> SmallNode:
    return SmallNode(name, "aten::op", "float32[2, 3]", "/home/me/model.py" if line else "", line)


@pytest.fixture
def index() -> GraphIndex:
    return small_graph(
        [
            node("forward/flatten", 8),
            node("forward/fc1/addmm", 8),
            node("forward/relu", 8),
            node("forward/layers/0/mul", 11),
            node("forward/add", 11),
            node("forward/layers/1/mul", 11),
            node("forward/add_1", 11),
            node("backward/add_1/mul", 11),
        ]
    )


def named(index: GraphIndex, nodes: tuple[int, ...] | list[int]) -> list[str]:
    return [index.name(each) for each in nodes]


def test_names_scopes_and_order(index: GraphIndex) -> None:
    assert named(index, index.execution)[1] == "forward/fc1/addmm"
    number = index.node_of("forward/layers/1/mul")
    assert number is not None
    assert index.line(number) == ("/home/me/model.py", 11)
    assert index.node_of("forward/layers") is None
    scope = index.scope_of("forward/layers")
    assert scope is not None
    assert index.is_inside(number, scope)
    assert [index.scope_label(each) for each in index.scopes_in(scope)] == ["0", "1"]
    assert index.first_in(scope) == index.node_of("forward/layers/0/mul")
    assert index.files() == ["/home/me/model.py"]
    assert GraphIndex.empty().node_of("x") is None


def test_the_nearest_names_are_at_most_three_and_begin_with_the_same_scope(index: GraphIndex) -> None:
    assert index.nearest("forward/fc1/adddmm") == ["forward/fc1/addmm"]
    assert index.nearest("forwrd/fc1/addmm") == ["forward/fc1/addmm"]
    assert index.nearest("nothing like it") == []
    many = small_graph([node(f"forward/conv{number}") for number in range(9)])
    assert len(many.nearest("forward/conv")) == 3
    assert distance_within("kitten", "sitting", 3) == 3
    assert distance_within("kitten", "sitting", 2) is None


def test_a_line_stops_once_for_each_run(index: GraphIndex) -> None:
    first = find_line(index, MODEL, "model.py", 8)
    assert first is not None
    assert named(index, first.nodes) == ["forward/flatten"]
    # A loop over layers: the scopes are beside each other, but the line's own op encloses them.
    beside = small_graph([node("forward/a/mul", 8), node("forward/b/mul", 8)])
    found = find_line(beside, MODEL, "model.py", 8)
    assert found is not None
    assert named(beside, found.nodes) == ["forward/a/mul", "forward/b/mul"]


def test_a_line_without_ops_is_the_next_one_of_the_same_function(index: GraphIndex) -> None:
    moved = find_line(index, MODEL, "model.py", 9)
    assert moved is not None
    assert moved.line == 11
    assert find_line(index, MODEL, "model.py", 12) is None
    assert find_line(index, MODEL, "other.py", 8) is None
    # Without its text nothing is known of the functions.
    assert find_line(index, None, "model.py", 9) is None


def test_before_the_first_step_a_line_is_that_of_the_next_statement() -> None:
    assert [next_statement(MODEL, line) for line in (5, 6, 7, 8)] == [8, 8, 8, 8]
    assert [next_statement(MODEL, line) for line in (9, 10, 11)] == [11, 11, 11]
    assert next_statement(MODEL, 14) == 15
    assert next_statement("not python (", 1) == 1


def test_what_a_breakpoint_is_on(index: GraphIndex) -> None:
    assert selection_of(index, "forward/layers", False, entry=True) == {"nodes": ["forward/layers/0/mul"]}
    assert selection_of(index, "forward/layers", False, entry=False) == {"scopes": ["forward/layers"]}
    assert selection_of(index, "forward/nothing", False, entry=True) is None
    assert selection_of(GraphIndex.empty(), "forward/later", False, entry=True) == {"patterns": ["forward/later"]}
    assert named(index, nodes_of(index, {"patterns": ["forward/*"]})) == [
        *("forward/flatten", "forward/relu", "forward/add", "forward/add_1"),
    ]
    assert len(nodes_of(index, {"patterns": ["forward/**"]})) == 7
    assert named(index, nodes_of(index, {"regexes": ["FC1"]})) == ["forward/fc1/addmm"]
    assert len(nodes_of(index, {})) == 8


def test_completion_goes_scope_by_scope(index: GraphIndex) -> None:
    assert [each.text for each in complete_nodes(index, "")] == ["forward/", "backward/"]
    assert [each.text for each in complete_nodes(index, "forward/l")] == ["forward/layers/"]
    assert [each.text for each in complete_nodes(index, "forward/f")] == ["forward/fc1/", "forward/flatten"]
    assert [each.text for each in complete_nodes(index, "f", within="forward")] == ["fc1/", "flatten"]
    assert complete_nodes(index, "no/such/scope") == []


def test_completion_in_a_large_graph_lists_a_scope_and_no_more() -> None:
    large = small_graph([node(f"forward/block{number // 1000}/op_{number}") for number in range(100_000)])
    assert len(complete_nodes(large, "forward/")) == 100
    assert len(complete_nodes(large, "forward/block7/")) == 1000
    flat = small_graph([node(f"optimizer/Adam/add_{number}") for number in range(100_000)])
    assert len(complete_nodes(flat, "optimizer/Adam/")) == MAX_LISTED
    assert [each.label for each in complete_nodes(flat, "optimizer/Adam/add_99999")] == ["add_99999"]


def detail(name: str, stack: list[Source]) -> NodeDetail:
    source = next((frame for frame in stack if frame.user), None)
    return NodeDetail(name, "op", "aten::addmm", "activation", (), 0, source, 1, "main", (), (), {}, tuple(stack))


def frame(function: str, line: int, user: bool = True) -> Source:
    return Source("model.py" if user else "torch/nn/library.py", line, "", function, user)


def test_frames_are_the_node_its_scopes_and_the_callers() -> None:
    stack = [
        frame("Linear.forward", 134, user=False),
        frame("Module._call_impl", 1700, user=False),
        frame("Block.forward", 12),
        frame("Sequential.forward", 250, user=False),
        frame("Net.forward", 32),
        frame("main", 50),
        frame("<module>", 60),
    ]
    frames = frames_of(detail("forward/body/0/fc/addmm", stack))
    assert [(each.kind, each.name, each.line, each.subtle) for each in frames] == [
        ("node", "forward/body/0/fc/addmm", 12, False),
        ("scope", "forward/body/0/fc", 134, True),
        ("scope", "forward/body/0", 12, False),
        ("scope", "forward/body", 250, True),
        ("scope", "forward", 32, False),
        ("python", "main", 50, False),
        ("python", "<module>", 60, False),
    ]
    assert [each.number for each in frames] == list(range(7))
    assert frames[0].scope == "forward/body/0/fc"


def test_a_list_of_modules_has_no_line() -> None:
    stack = [frame("Linear.forward", 134, user=False), frame("Attention.forward", 11), frame("Net.forward", 22)]
    frames = frames_of(detail("forward/blocks/0/q/addmm", stack))
    assert [(each.name, each.line) for each in frames] == [
        ("forward/blocks/0/q/addmm", 11),
        ("forward/blocks/0/q", 134),
        ("forward/blocks/0", 11),
        ("forward/blocks", 0),
        ("forward", 22),
    ]


def test_a_wrapper_around_the_model_is_no_scope() -> None:
    stack = [
        frame("Net.forward", 32),
        frame("DistributedDataParallel.forward", 1890, user=False),
        frame("main", 50),
    ]
    frames = frames_of(detail("forward/relu", stack))
    assert [(each.name, each.line) for each in frames] == [("forward/relu", 32), ("forward", 32), ("main", 50)]


def test_an_op_outside_of_the_model_has_its_callers_once() -> None:
    frames = frames_of(detail("forward/log", [frame("cross_entropy", 31), frame("main", 50), frame("<module>", 60)]))
    assert [(each.name, each.line) for each in frames] == [
        *(("forward/log", 31), ("forward", 0), ("main", 50), ("<module>", 60)),
    ]


def test_a_backward_node_has_the_lines_of_its_forward_node() -> None:
    frames = frames_of(detail("backward/fc/mm", [frame("Net.forward", 32), frame("main", 50)]))
    assert [(each.name, each.line) for each in frames] == [
        ("backward/fc/mm", 32),
        ("backward/fc", 0),
        ("backward", 32),
        ("main", 50),
    ]
