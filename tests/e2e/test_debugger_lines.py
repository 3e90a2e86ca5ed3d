"""Lines of the program for a debugger: the frame that `next` stays in, and runs of a line."""

from __future__ import annotations

import dataclasses

import pytest
from graphdbg.cli.debugger.errors import DebuggerError
from graphdbg.cli.debugger.frames import Frame, frame_after, users_frame
from graphdbg.cli.debugger.log_points import LineLogs, check_fields

FRAMES = [
    Frame(0, "forward/head/addmm", "node", "forward/head", "net.py", 5),
    Frame(1, "forward/head", "scope", "forward/head", "linear.py", 130, subtle=True),
    Frame(2, "forward", "scope", "forward", "net.py", 5),
    Frame(3, "<module>", "python", "", "net.py", 9),
]


def test_next_stays_in_the_module_that_calls_a_layer_of_a_library() -> None:
    assert users_frame(FRAMES, 0).scope == users_frame(FRAMES, 1).scope == "forward"
    assert users_frame(FRAMES, 2).number == 2
    # Without modules of the user's, in that of the node.
    own = [FRAMES[0], FRAMES[1], FRAMES[3]]
    assert users_frame(own, 0).scope == "forward/head"
    label = [Frame(0, "end of step 3", "label", "")]
    assert users_frame(label, 0).kind == "label"


def test_after_a_move_the_user_stands_at_the_line_that_calls_modules() -> None:
    frames = [
        Frame(0, "forward/blocks/1/fc/t", "node", "forward/blocks/1/fc", "net.py", 30),
        Frame(1, "forward/blocks/1/fc", "scope", "forward/blocks/1/fc", "linear.py", 130, subtle=True),
        Frame(2, "forward/blocks/1", "scope", "forward/blocks/1", "net.py", 30),
        Frame(3, "forward/blocks", "scope", "forward/blocks", subtle=True),
        Frame(4, "forward", "scope", "forward", "net.py", 11),
        Frame(5, "<module>", "python", "", "net.py", 50),
    ]
    # The line has called the block, another one has returned, or the block itself has moved on.
    assert frame_after(frames, "forward") == frame_after(frames, "forward/blocks/0") == 4
    assert frame_after(frames, "forward/blocks/1") == frame_after(frames, "forward/blocks/1/fc") == 0
    # Layers of libraries have no lines to stand at, nor do ops of the backward pass.
    assert frame_after(FRAMES, "forward") == frame_after(FRAMES, "forward/head") == 0
    backward = [dataclasses.replace(frames[0], name="backward/blocks/1/fc/mm"), *frames[1:]]
    assert frame_after(backward, "forward") == 0
    assert frame_after([Frame(0, "end of step 3", "label", "")], "forward") == 0


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
