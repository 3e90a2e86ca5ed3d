"""Pauses, interrupts, and the ends of programs."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Script, read_trace
from scripts import CNN


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def paused(script: Script, tmp_path: Path, text: str = CNN, *arguments: str) -> tuple[subprocess.Popen[str], Path]:
    """Starts a script that the agent pauses before its first step."""
    process, trace = script.start(text, *(arguments or ("SGD",)), GRAPHDBG_TRACE_GATE=str(tmp_path / "gate"))
    wait_for(lambda: any(call["call"] == "waiting" for call in read_trace(trace)) or process.poll() is not None)
    return process, trace


@pytest.mark.from_python
def test_ctrl_c_ends_a_paused_program_as_usual(script: Script, tmp_path: Path) -> None:
    process, trace = paused(script, tmp_path)
    process.send_signal(signal.SIGINT)
    run = script.finish(process, trace)
    assert run.returncode == -signal.SIGINT
    assert run.stderr.rstrip().endswith("KeyboardInterrupt")
    assert [(c["exit_code"], c["type"]) for c in run.called("close")] == [(130, "KeyboardInterrupt")]


THREAD = """
import threading
import time

import torch
from torch import nn

def train():
    net = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        net(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    print("trained")

threading.Thread(target=train).start()
# Thread.join is not used: after an interrupt within Thread.is_alive, Python 3.11
# considers the thread to have ended.
while True:
    time.sleep(0.05)
"""


def test_ctrl_c_lets_a_paused_thread_go(script: Script, tmp_path: Path) -> None:
    # Like without a debugger, the main thread is interrupted, and Python waits for the
    # other one to end.
    process, trace = paused(script, tmp_path, THREAD)
    process.send_signal(signal.SIGINT)
    run = script.finish(process, trace)
    assert run.stdout == "trained\n", run.stderr
    assert run.stderr.rstrip().endswith("KeyboardInterrupt")
    assert run.returncode == -signal.SIGINT


def test_sigterm_ends_a_paused_program(script: Script, tmp_path: Path) -> None:
    process, trace = paused(script, tmp_path)
    process.send_signal(signal.SIGTERM)
    assert script.finish(process, trace).returncode == -signal.SIGTERM


def test_a_programs_own_handler_runs_while_paused(script: Script, tmp_path: Path) -> None:
    text = "import signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n" + CNN
    process, trace = paused(script, tmp_path, text)
    process.send_signal(signal.SIGTERM)
    run = script.finish(process, trace)
    assert run.returncode == 7
    assert run.called("close")[0]["exit_code"] == 7


@pytest.mark.from_python
def test_other_threads_run_while_paused(script: Script, tmp_path: Path) -> None:
    # The gate is opened by a thread of the paused program itself.
    opener = """
import os, threading, time

def open_gate():
    while not any('"waiting"' in line for line in open(os.environ["GRAPHDBG_TRACE_FILE"])):
        time.sleep(0.01)
    open(os.environ["GRAPHDBG_TRACE_GATE"], "w").close()

threading.Thread(target=open_gate, daemon=True).start()
model = Net()
"""
    text = CNN.replace("model = Net()\n", opener)
    run = script(text, "SGD", GRAPHDBG_TRACE_GATE=str(tmp_path / "gate"))
    assert run.returncode == 0
    assert len(run.called("step_end")) == 4


@pytest.mark.from_python
@pytest.mark.parametrize("step", [1, 3])
def test_terminate_unwinds_the_program(script: Script, step: int) -> None:
    text = CNN.replace("for _ in range(4):", "import atexit; atexit.register(print, 'exit')\nfor _ in range(4):")
    run = script(text, "SGD", GRAPHDBG_TRACE_TERMINATE=str(step))
    assert run.returncode == 143
    assert run.stdout.endswith("exit\n")
    assert len(run.stdout.splitlines()) <= step
    assert [c["exit_code"] for c in run.called("close")] == [143]
    assert [line for line in run.stderr.splitlines() if "follows PyTorch from Python" not in line] == []


@pytest.mark.from_python
def test_an_uncaught_exception_is_told(script: Script, tmp_path: Path) -> None:
    file = tmp_path / "exception.json"
    text = "class Odd(ValueError):\n    pass\n\n" + CNN + "\nraise Odd('no good')\n"
    run = script(text, "SGD", GRAPHDBG_EXCEPTION_FILE=str(file))
    assert run.returncode == 1
    record = json.loads(file.read_text())
    assert (record["type"], record["message"]) == ("Odd", "no good")
    assert "train.py" in record["traceback"] and record["traceback"].rstrip().endswith("Odd: no good")
    close = run.called("close")[0]
    assert (close["exit_code"], close["type"], close["message"]) == (1, "Odd", "no good")


def test_a_failure_before_torch_is_imported_is_told(script: Script, tmp_path: Path) -> None:
    file = tmp_path / "exception.json"
    run = script("import no_such_module\n", GRAPHDBG_EXCEPTION_FILE=str(file))
    assert run.returncode == 1
    assert json.loads(file.read_text())["type"] == "ModuleNotFoundError"
    assert run.calls == []


@pytest.mark.parametrize(("ending", "code"), [("", 0), ("sys.exit(3)", 3), ("sys.exit('bad')", 1), ("exit()", 0)])
def test_the_exit_code_is_told(script: Script, tmp_path: Path, ending: str, code: int) -> None:
    file = tmp_path / "exception.json"
    run = script(f"import sys, torch\n{ending}\n", GRAPHDBG_EXCEPTION_FILE=str(file))
    assert run.returncode == code
    assert [c["exit_code"] for c in run.called("close")] == [code]
    assert not file.exists()
