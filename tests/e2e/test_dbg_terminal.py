"""`graphdbg dbg` in a terminal: completion, history, Ctrl-C, and output of the job meanwhile."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import GRAPHDBG, HOSTS, clean_environment

pexpect = pytest.importorskip("pexpect")

DIGITS = [sys.executable, str(HOSTS / "digits_cnn.py"), "--steps=1000000"]
PROMPT = r"\(graphdbg\) "
INTERRUPT, TAB, UP, KILL_LINE = "\x03", "\t", "\x1b[A", "\x15"
# Each op is followed by a long time in which a pause cannot take effect.
SLOW = """
import time
import torch
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(100):
    model(torch.ones(1, 2)).sum().backward()
    print("sleeping", flush=True)
    time.sleep(5)
    optimizer.step()
"""


class Terminal:
    """A session in a pseudo-terminal."""

    def __init__(self, home: Path, *arguments: str, **environment: str) -> None:
        self.child = pexpect.spawn(
            GRAPHDBG,
            ["dbg", *arguments],
            env=clean_environment(HOME=str(home), TERM="xterm", **environment),
            encoding="utf-8",
            timeout=300,
            dimensions=(50, 160),
        )

    def type(self, text: str) -> None:
        self.child.send(text)

    def enter(self, line: str) -> None:
        self.child.send(f"{line}\r")

    def expect(self, pattern: str) -> str:
        self.child.expect(pattern)
        return str(self.child.match.group(0))

    def end(self) -> int:
        self.child.expect(pexpect.EOF)
        self.child.close()
        return int(self.child.exitstatus)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    started: list[Terminal] = []

    def start(*arguments: str, **environment: str) -> Terminal:
        started.append(Terminal(tmp_path, *arguments, **environment))
        return started[-1]

    yield start
    for each in started:
        each.child.close(force=True)


def test_completion_history_and_the_jobs_output(terminal, tmp_path: Path) -> None:
    first = terminal("--", *DIGITS)
    first.expect("waits before the first step")
    first.expect(PROMPT)
    first.type(f"sta{TAB}")
    first.expect("statistics")
    first.type(KILL_LINE)
    first.enter("step")
    first.expect("step    1  loss")
    first.expect("at the end of step 1")
    first.expect(PROMPT)
    # Scope by scope.
    first.type(f"print forward/fc1/a{TAB}")
    first.expect("forward/fc1/addmm")
    first.type(f"{KILL_LINE}break digits_cn{TAB}")
    first.expect(r"digits_cnn\.py:")
    first.type(f"{KILL_LINE}watch gradient_van{TAB}")
    first.expect("gradient_vanishing")
    first.type(f"{KILL_LINE}info ra{TAB}")
    first.expect("ranks")
    first.enter("")
    first.expect("paused")
    first.enter("quit")
    first.expect("will be killed. Quit")
    first.enter("y")
    assert first.end() == 0
    history = tmp_path / ".local" / "state" / "graphdbg" / "history"
    assert "+step" in history.read_text()
    assert history.stat().st_mode & 0o077 == 0

    again = terminal("--", *DIGITS)
    again.expect("waits before the first step")
    again.expect(PROMPT)
    # The lines of the last session, the newest first.
    again.type(UP * 4)
    again.expect("step")
    again.type("\r")
    again.expect("at the end of step 1")
    again.enter("set confirm off")
    again.enter("kill")
    again.expect("has been terminated")
    again.enter("quit")
    assert again.end() == 0


def test_ctrl_c_pauses(terminal) -> None:
    session = terminal("--", *DIGITS)
    session.expect("waits before the first step")
    session.expect(PROMPT)
    session.enter("continue")
    session.expect(r"step +\d+  loss")
    session.type(INTERRUPT)
    session.expect("pausing at the next op")
    session.expect("paused (after|at the end of)")
    session.expect(PROMPT)
    # At the prompt it only clears the line.
    session.type(f"half a line{INTERRUPT}")
    session.expect(PROMPT)
    session.enter("info job")
    session.expect("state +paused")


def test_a_second_ctrl_c_leaves_the_wait(terminal) -> None:
    session = terminal("--", sys.executable, "-c", SLOW)
    session.expect("waits before the first step")
    session.expect(PROMPT)
    session.enter("continue")
    session.expect("sleeping")
    session.type(INTERRUPT)
    session.expect("pausing at the next op")
    session.type(INTERRUPT)
    session.expect("the job runs on")
    session.expect(PROMPT)
    # The prompt is there while the job runs, and the stop is told when it comes.
    session.enter("info job")
    session.expect("state +pausing")
    session.expect(r"\[paused")
    session.enter("stepi")
    session.expect("after ")


def test_colours_only_where_they_are_wanted(terminal, tmp_path: Path) -> None:
    pytest.importorskip("rich")
    coloured = terminal("--batch", "--ex", "step", "--ex", "kill", "--", *DIGITS)
    assert coloured.end() == 0
    assert re.search(r"\x1b\[[0-9;]*m", coloured.child.before)
    plain = terminal("--batch", "--ex", "step", "--ex", "kill", "--", *DIGITS, NO_COLOR="1")
    assert plain.end() == 0
    assert "\x1b[" not in plain.child.before


def test_without_prompt_toolkit_lines_are_read_all_the_same(terminal, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    (hidden / "prompt_toolkit").mkdir(parents=True)
    (hidden / "prompt_toolkit" / "__init__.py").write_text("raise ImportError('hidden')\n")
    session = terminal("--", *DIGITS, PYTHONPATH=f"{hidden}:{os.environ.get('PYTHONPATH', '')}")
    session.expect(r"pip install 'graphdbg\[debugger\]'")
    session.expect(PROMPT)
    session.enter("step")
    session.expect("at the end of step 1")
    session.enter("set confirm off")
    session.enter("quit")
    assert session.end() == 0
