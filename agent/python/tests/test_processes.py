"""Which processes are debugged, and which are not."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Run, Script

LOADER = """
import multiprocessing
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, i):
        return nn.Flatten(0)(torch.full((1, 3), float(i))).mul(2)


if __name__ == "__main__":
    context = sys.argv[1] if sys.argv[1] != "none" else None
    net = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001)
    loader = DataLoader(Numbers(), batch_size=4, num_workers=2 if context else 0, multiprocessing_context=context)
    for epoch in range(2):
        for x in loader:
            net(x).sum().backward()
            optimizer.step()
    print("done")
"""


@pytest.mark.from_python
def test_forked_loader_workers_are_inert(script: Script) -> None:
    run = script(LOADER, "fork")
    assert (run.returncode, run.stdout) == (0, "done\n"), run.stderr
    assert {call["pid"] for call in run.calls} == {run.calls[0]["pid"]}
    assert len(run.called("step_end")) == 8


def test_spawned_loader_workers_are_inert(script: Script) -> None:
    run = script(LOADER, "spawn")
    assert (run.returncode, run.stdout) == (0, "done\n"), run.stderr
    # Workers, which could train, do not.
    assert len(run.called("start")) == 1
    assert len({call["pid"] for call in run.called("step_end")}) == 1


def test_loading_of_data_is_no_part_of_the_graph(script: Script) -> None:
    run = script(LOADER, "none")
    assert not [name for name in run.nodes if name.startswith(("forward/mul", "forward/full", "forward/stack"))]
    assert run.executed(step=8) == run.executed(step=2)


@pytest.mark.from_python
def test_a_forked_child_ends_without_a_word(script: Script) -> None:
    run = script("""
import os, sys

import torch
from torch import nn

net = nn.Linear(3, 2)
net(torch.ones(1, 3))
if os.fork() == 0:
    net(torch.ones(1, 3)).sum().backward()
    sys.exit(5)
os.wait()
net(torch.ones(1, 3))
""")
    assert run.returncode == 0
    assert {call["pid"] for call in run.calls} == {run.calls[0]["pid"]}
    assert [c["exit_code"] for c in run.called("close")] == [0]


def test_children_forked_while_another_thread_trains_end(script: Script) -> None:
    run = script("""
import os
import threading

import torch
from torch import nn

torch.set_num_threads(1)
stop = threading.Event()
net = nn.Linear(8, 8)
optimizer = torch.optim.SGD(net.parameters(), lr=0.001)

def step():
    net(torch.ones(2, 8)).sum().backward()
    optimizer.step()

def train():
    while not stop.is_set():
        step()

# A child forked while PyTorch sets up its first ops can hang without graphdbg.
step()
torch.ones(3).mul(2)
thread = threading.Thread(target=train)
thread.start()
for i in range(50):
    child = os.fork()
    if child == 0:
        torch.ones(3).mul(2)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
stop.set()
thread.join()
step()
print("done")
""")
    assert (run.returncode, run.stdout) == (0, "done\n"), run.stderr
    assert {call["pid"] for call in run.calls} == {run.calls[0]["pid"]}


def test_switched_off_nothing_is_loaded(script: Script) -> None:
    run = script(
        """
import sys

import torch

print([name for name in sys.modules if name.startswith("graphdbg")])
print("graphdbg" in open("/proc/self/maps").read())
""",
        GRAPHDBG_ENABLE="0",
    )
    assert run.stdout == "[]\nFalse\n" or run.stdout.startswith("['graphdbg', 'graphdbg._autoload']\nFalse")


def test_a_program_without_torch_is_as_it_was(script: Script) -> None:
    run = script("import json\nprint(json.dumps(1))\n")
    assert (run.returncode, run.stdout, run.stderr) == (0, "1\n", "")
    assert run.calls == []


def test_only_connecting_starts_a_job_that_joins_a_training(script: Script) -> None:
    def joined(*calls: str) -> Run:
        text = """
import sys

import torch
from graphdbg._torch import hooks

adapter = hooks.load(torch)
assert adapter.open(str(torch.__version__), "joined", True)
torch.nn.Linear(2, 1)(torch.ones(1, 2)).sum().backward()
for call in sys.argv[1:]:
    getattr(adapter, call)()
"""
        return script(text, *calls, GRAPHDBG_ENABLE="0")

    assert joined().called("open") and not joined().called("start")
    assert len(joined("connect").called("start")) == 1


def test_the_hidden_sitecustomize_runs(script: Script, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import builtins; builtins.customized = __file__\n")
    script.starts_quickly = False
    environment = script.environment(tmp_path / "trace", {})
    environment["PYTHONPATH"] += f"{os.pathsep}{own}"
    code = "import sys, torch; print(customized, sys.modules['sitecustomize'].__file__)"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(own / "sitecustomize.py")] * 2
    assert "open" in (tmp_path / "trace").read_text()


def test_torch_is_imported_as_if_nobody_watched(script: Script) -> None:
    script.starts_quickly = False
    run = script("""
import sys

import torch

print(type(torch.__spec__.loader).__name__, torch.__loader__ is torch.__spec__.loader)

# Makes PyTorch 2 import its compiler, which an import hook waits for, too.
torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1).zero_grad()
print([finder._name for finder in sys.meta_path if "graphdbg" in type(finder).__module__])
""")
    loader, waited_for = run.stdout.splitlines()
    assert loader == "SourceFileLoader True"
    # If PyTorch has not tried to import other frameworks, the hooks still wait for them.
    waiting = ["keras.src.optimizers.base_optimizer", "keras.src.layers.layer"]
    others = [each for each in ast.literal_eval(waited_for) if each not in waiting]
    assert set(waiting) <= set(ast.literal_eval(waited_for)) and "torch" not in others
    assert set(others) <= {"onnxruntime", "tensorflow", "jax", "xgboost", "lightgbm"}


def test_a_torch_that_cannot_be_followed_is_left_alone_in_one_line(script: Script) -> None:
    run = script("""
import importlib.util, pathlib, sys

site = pathlib.Path("site/torch")
site.mkdir(parents=True)
(site / "__init__.py").write_text("__version__ = '1.4.0'\\nclass nn: Module = object\\n")
sys.path.insert(0, "site")
import torch
print(torch.__version__)
""")
    assert run.stdout == "1.4.0\n"
    assert len(run.stderr.splitlines()) == 1 and "cannot follow PyTorch" in run.stderr
    assert run.calls == []


def test_launchers_are_not_debugged(script: Script, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--help"],
        env=script.environment(trace, {}),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    assert not trace.exists()
