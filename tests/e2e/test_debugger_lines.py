"""Lines of the program for a debugger: the frame that `next` stays in, and runs of a line."""

from __future__ import annotations

import dataclasses

import pytest
from graphdbg.cli.debugger.callers import Callers
from graphdbg.cli.debugger.errors import DebuggerError
from graphdbg.cli.debugger.frames import Frame, users_frame
from graphdbg.cli.debugger.log_points import LineLogs, check_fields

FRAMES = [
    Frame(0, "forward/head/addmm", "node", "forward/head", "net.py", 5),
    Frame(1, "forward/head", "scope", "forward/head", "linear.py", 130, subtle=True),
    Frame(2, "forward", "scope", "forward", "net.py", 5),
    Frame(3, "<module>", "python", "", "net.py", 9),
]
TEXT = """class Net:
    def forward(self, x):
        x = self.a(x)

        return self.head(x)


def other():
    pass
"""


def test_next_stays_in_the_module_that_calls_a_layer_of_a_library() -> None:
    assert users_frame(FRAMES, 0).scope == users_frame(FRAMES, 1).scope == "forward"
    assert users_frame(FRAMES, 2).number == 2
    # Without modules of the user's, in that of the node.
    own = [FRAMES[0], FRAMES[1], FRAMES[3]]
    assert users_frame(own, 0).scope == "forward/head"
    label = [Frame(0, "end of step 3", "label", "")]
    assert users_frame(label, 0).kind == "label"


def test_the_lines_of_the_functions_that_the_program_is_in() -> None:
    callers = Callers(FRAMES[:3], lambda file: TEXT if file == "net.py" else None)
    assert callers.have("net.py", 3)
    assert not callers.have("net.py", 9)
    assert not callers.have("linear.py", 130)
    assert not callers.have("net.py", 0)


@dataclasses.dataclass
class _Hit:
    node: str
    order: int
    slot: int = 0
    step: int = 1
    rank: int = 0


def told(logs: LineLogs, *hits: _Hit) -> list[tuple[str, int]]:
    found = [pair for hit in hits for pair in logs.add(1, hit)]  # type: ignore[arg-type]
    return [(hit.node, hit.slot) for _, hit in found]


def test_a_log_point_tells_the_result_of_each_run_of_its_line() -> None:
    logs = LineLogs()
    line = [_Hit("forward/fc/t", 1), _Hit("forward/fc/addmm", 2), _Hit("forward/relu", 3), _Hit("forward/relu", 3, 1)]
    assert told(logs, *line) == []
    # Another step, then another op in between, then a scope beside.
    assert told(logs, _Hit("forward/relu", 3, step=2)) == [("forward/relu", 0)]
    assert told(logs, _Hit("forward/relu", 9, step=2)) == [("forward/relu", 0)]
    assert told(logs, _Hit("forward/a/x", 10, step=2)) == []
    assert told(logs, _Hit("forward/b/x", 11, step=2)) == [("forward/a/x", 0)]
    assert [hit.node for _, hit in logs.take()] == ["forward/b/x"]
    assert logs.take() == []


def test_runs_of_other_lines_and_ranks() -> None:
    logs = LineLogs()
    logs.add(1, _Hit("forward/a", 1))  # type: ignore[arg-type]
    # The job is past the first line.
    assert [id for id, _ in logs.add(2, _Hit("forward/b", 5))] == [1]  # type: ignore[arg-type]
    assert logs.add(2, _Hit("forward/b", 7, rank=1)) == []  # type: ignore[arg-type]


@pytest.mark.parametrize("message", ["{nosuch}", "{max} and {p99}"])
def test_unknown_fields_of_messages_are_refused(message: str) -> None:
    with pytest.raises(DebuggerError, match="there are node, slot, name, step, rank, count"):
        check_fields(message)
    check_fields("loss {max} in step {step}, {not a field}")
