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
# The line editor moves the cursor instead of writing the space behind it.
PROMPT = r"\(graphdbg\)"
INTERRUPT, TAB, UP = "\x03", "\t", "\x1b[A"
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

    def complete(self, begin: str, inserted: str) -> None:
        """Types the begin of a line and Tab, and waits for what Tab inserts: the editor writes only what is new."""
        self.child.send(f"{begin}{TAB}")
        self.child.expect(re.escape(inserted))

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
    first.complete("stat", "istics")
    first.enter("")
    first.expect("stands at none")
    first.expect(PROMPT)
    first.enter("step")
    first.expect("at the end of step 1")
    first.expect(PROMPT)
    # The job's line about the first step comes in the second.
    first.enter("step")
    first.expect("step    1  loss")
    first.expect("at the end of step 2")
    first.expect(PROMPT)
    # Scope by scope.
    first.complete("print forward/fc1/add", "mm")
    first.enter(".count")
    first.expect(r"forward/fc1/addmm\.count = 4096")
    first.expect(PROMPT)
    first.complete("break digits_cn", "n.py:")
    first.enter("26")
    first.expect(r"Breakpoint 1: digits_cnn\.py:26")
    first.expect(PROMPT)
    first.complete("watch gradient_alw", "ays_zero")
    first.enter("")
    first.expect("Watchpoint 2: gradient_always_zero")
    first.expect(PROMPT)
    first.complete("info ra", "nks")
    first.enter("")
    first.expect("State")
    first.expect("paused")
    first.enter("quit")
    first.expect("will be killed. Quit")
    first.enter("y")
    assert first.end() == 0
    history = tmp_path / ".local" / "state" / "graphdbg" / "history"
    lines = history.read_text().splitlines()
    assert "+step" in lines and lines[-1] == "+quit"
    assert history.stat().st_mode & 0o077 == 0

    again = terminal("--", *DIGITS)
    again.expect("waits before the first step")
    again.expect(PROMPT)
    # The lines of the last session, the newest first.
    again.type(UP * 6)
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


@pytest.mark.long
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
