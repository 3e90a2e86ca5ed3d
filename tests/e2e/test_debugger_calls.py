"""Which frames of a stack are calls of modules, and which ops a line executes.

The agent decides in the same way: `agent/core/module_calls_test.cc` and `call_site_test.cc`.
"""

from __future__ import annotations

import pytest
from graphdbg.cli.debugger.call_site import CallSite, Relation
from graphdbg.cli.debugger.called_lines import find_place
from graphdbg.cli.debugger.graph_index import GraphIndex
from graphdbg.cli.debugger.line_goals import LineGoals
from graphdbg.cli.debugger.module_calls import calls_of
from graphdbg.cli.debugger.small_graph import SmallNode, small_graph
from graphdbg.client.models import NodeDetail, Source

MAIN = ("main", 50)


def stack(*frames: tuple[str, int] | str) -> list[Source]:
    """Innermost first; functions that begin with "-" are a library's."""
    pairs = [(each, 1) if isinstance(each, str) else each for each in frames]
    return [Source("m.py", line, "", function.removeprefix("-"), function[0] != "-") for function, line in pairs]


def node(name: str, *frames: tuple[str, int] | str) -> NodeDetail:
    return NodeDetail(name, "op", "", "other", (), 0, None, 1, "main", (), (), {}, tuple(stack(*frames)))


@pytest.mark.parametrize(
    ("scopes", "frames", "calls"),
    [
        ({"forward": "Net", "forward/fc": "Linear"}, ["-Linear.forward", "-_call_impl", "Net.forward", "main"], [2, 0]),
        (
            {"forward": "Net", "forward/blocks": "ModuleList", "forward/blocks/0": "Block"},
            ["Block.forward", "Net.forward", "main"],
            [1, None, 0],
        ),
        ({"forward": "", "forward/blocks": "", "forward/blocks/0": ""}, ["forward", "forward", "main"], [1, None, 0]),
        (
            {"forward": "Net", "forward/net": "Sequential", "forward/net/0": "Block"},
            ["Block.forward", "-Sequential.forward", "Net.forward"],
            [2, 1, 0],
        ),
        ({"forward": "", "forward/fc": ""}, ["-forward", "forward", "-forward", "-_call_impl", "main"], [1, 0]),
        ({"forward": "Lit", "forward/fc": "Linear"}, ["-Linear.forward", "Lit.training_step", "main"], [None, 0]),
        (
            {"forward": "", "forward/Net": "Net", "forward/Net/blocks": "ModuleList", "forward/Net/blocks/0": "Block"},
            ["Block.forward", "main.<locals>.Net.forward"],
            [None, 1, None, 0],
        ),
        (
            {"forward": "Net", "forward/act": "MySwish"},
            ["Function.forward", "Swish.forward", "Net.forward", "main"],
            [2, 1],
        ),
        ({"forward": "Net"}, [], [None]),
    ],
    ids=["layer", "list", "list of unknown type", "sequential", "wrapper", "part", "second model", "functions", "none"],
)
def test_calls_of_modules(scopes: dict[str, str], frames: list[str], calls: list[int | None]) -> None:
    assert calls_of(list(scopes), list(scopes.values()), stack(*frames)) == calls


def relation(site: NodeDetail, scope: str, other: NodeDetail, types: dict[str, str] | None = None) -> Relation:
    return CallSite(site, scope, lambda name: (types or {}).get(name, "")).relation_of(other)


def test_a_line_executes_what_it_calls() -> None:
    here = node("forward/a", ("Net.forward", 7), MAIN)
    called = node("forward/block/a", ("Block.forward", 30), "-_call_impl", ("Net.forward", 7), MAIN)
    later = node("forward/block/b", ("Block.forward", 30), "-_call_impl", ("Net.forward", 8), MAIN)
    assert relation(here, "forward", called) is Relation.SAME_LINE
    assert relation(here, "forward", later) is Relation.OTHER_LINE
    assert relation(here, "forward", node("forward/loss", MAIN)) is Relation.OTHER_LINE
    assert relation(here, "forward", node("forward/none")) is Relation.UNRELATED
    assert relation(here, "forward", node("forward/t", ("Net.forward", 7), "bootstrap")) is Relation.UNRELATED
    # The same line of another scope's function.
    rest = node("forward/block/c", ("Block.forward", 31), "-_call_impl", ("Net.forward", 7), MAIN)
    assert relation(called, "forward", rest) is Relation.SAME_LINE
    assert relation(called, "forward/block", rest) is Relation.OTHER_LINE


def test_another_module_of_the_class_has_a_call_of_its_own() -> None:
    frames = [("Block.forward", 30), ("Net.forward", 7), MAIN]
    here = node("forward/blocks/0/fc/a", *frames)
    assert relation(here, "forward/blocks/0", node("forward/blocks/0/fc/b", *frames)) is Relation.SAME_LINE
    assert relation(here, "forward/blocks/0", node("forward/blocks/1/fc/a", *frames)) is Relation.OTHER_LINE


def test_a_function_of_the_module_has_lines_of_its_own() -> None:
    here = node("forward/a", ("attention", 3), ("Net.forward", 7), MAIN)
    assert (
        relation(here, "forward", node("forward/b", ("attention", 4), ("Net.forward", 7), MAIN)) is Relation.OTHER_LINE
    )
    inner = node("forward/c", ("scale", 9), ("attention", 3), ("Net.forward", 7), MAIN)
    assert relation(here, "forward", inner) is Relation.SAME_LINE


def test_each_round_of_a_loop_over_modules_counts() -> None:
    types = {"forward": "Net", "forward/stages": "ModuleList", "forward/stages/0": "ModuleList"}
    types |= {f"forward/stages/{each}": "Block" for each in ("0/0", "0/1", "1/0")}
    frames = [("Block.forward", 30), ("Net.forward", 7), MAIN]
    here = node("forward/stages/0/0/a", *frames)
    assert relation(here, "forward", node("forward/stages/0/0/fc/a", *frames), types) is Relation.SAME_LINE
    assert relation(here, "forward", node("forward/stages/0/1/a", *frames), types) is Relation.OTHER_LINE
    assert relation(here, "forward", node("forward/stages/1/0/a", *frames), types) is Relation.OTHER_LINE


def test_outer_frames_may_be_missing() -> None:
    frames = [("Net.forward", 7), MAIN, *["-launcher"] * 30]
    here = node("forward/a", *frames)
    called = node("forward/block/a", ("Block.forward", 30), *frames[:-1])
    later = node("forward/block/b", ("Block.forward", 30), ("Net.forward", 8), *frames[1:-1])
    assert relation(here, "forward", called) is Relation.SAME_LINE
    assert relation(here, "forward", later) is Relation.OTHER_LINE


class _Nodes:
    def __init__(self, *nodes: NodeDetail) -> None:
        self.nodes = {each.name: each for each in nodes}
        self.fetched: list[str] = []

    def known_node(self, name: str) -> NodeDetail:
        self.fetched.append(name)
        return self.nodes[name]

    def type_of(self, scope: str) -> str:
        return ""


def test_stacks_are_fetched_once_for_what_a_line_makes() -> None:
    block = [("Block.forward", 30), ("Net.forward", 7), MAIN]
    nodes = _Nodes(
        node("forward/a", ("Net.forward", 7), MAIN),
        *(node(f"forward/block/{name}", *block) for name in ("t", "mul", "add")),
        node("forward/block/t_1", ("Block.forward", 30), ("Net.forward", 8), MAIN),
        node("backward/a", ("Net.forward", 7), MAIN),
    )
    rows = [SmallNode(name, "", "", "m.py", each.stack[0].line) for name, each in nodes.nodes.items()]
    index = small_graph(rows)
    goals = LineGoals(nodes, index, 0, "forward")
    assert [goals.find(number) for number in range(6)] == [False, False, False, False, True, False]
    assert nodes.fetched == ["forward/a", "forward/a", "forward/block/t", "forward/block/t_1"]


TEXT = """class Block:
    def forward(self, x):
        return x.relu()


class Net:
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        x = self.first(self.second(x))
        return x


net = Net()
net(1)
"""


class _Program(_Nodes):
    """A model with two blocks in a list and two more, whose lines are those of TEXT."""

    def __init__(self) -> None:
        model = ("<module>", 15)
        rounds = [("Block.forward", 3), ("Net.forward", 9), model]
        both = [("Block.forward", 3), ("Net.forward", 10), model]
        super().__init__(
            node("forward/rand", ("<module>", 14)),
            node("forward/blocks/0/relu", *rounds),
            node("forward/blocks/1/relu", *rounds),
            node("forward/second/relu", *both),
            node("forward/first/relu", *both),
        )
        rows = [SmallNode(name, "", "", "m.py", each.stack[0].line) for name, each in self.nodes.items()]
        self.index = small_graph(rows)

    def graph_index(self) -> GraphIndex:
        return self.index

    def source_text(self, file: str) -> str | None:
        return TEXT

    def type_of(self, scope: str) -> str:
        types = {"forward": "Net", "forward/blocks": "ModuleList"}
        return types.get(scope, "Block" if scope else "")


def test_lines_that_only_call_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    program = _Program()
    index = program.index
    monkeypatch.setattr(index, "scope_type", lambda scope: program.type_of(index.scope_name(scope)))
    monkeypatch.setattr(
        index, "scopes_of_type", lambda name: [each for each in range(1, 6) if index.scope_type(each) == name]
    )

    def found(line: int) -> tuple[int, list[str]]:
        place = find_place(program, "m.py", line)
        assert place is not None
        return place.line, [index.name(each) for each in place.nodes]

    # Each round of a loop; a line that calls two modules runs once.
    assert found(9) == (9, ["forward/blocks/0/relu", "forward/blocks/1/relu"])
    assert found(10) == (10, ["forward/second/relu"])
    # The head of the loop has no call.
    assert found(8) == (9, ["forward/blocks/0/relu", "forward/blocks/1/relu"])
    assert found(15) == (15, ["forward/blocks/0/relu"])
    assert found(3)[0] == 3
