"""Pitfalls of following PyTorch (agent/docs/pitfalls.md) that no other test covers."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Script
from scripts import CNN

PREAMBLE = """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
"""


def sources(run, name: str, step: int = 1) -> list[str]:
    """The nodes that produced the inputs of a node."""
    return [given["from"] for given in run.execution(name, step)["inputs"]]


def test_the_second_engine_sees_the_same_program(script: Script) -> None:
    by_dispatch = script(CNN, "Adam")
    run = script(CNN, "Adam", GRAPHDBG_CAPTURE="record_function")
    assert run.stdout == by_dispatch.stdout
    assert "graphdbg" not in run.stderr
    assert run.executed(step=2) == by_dispatch.executed(step=2)
    forward, backward = "forward/fc/addmm", "backward/fc/mm"
    assert run.execution(backward, step=2)["outputs"][0]["shape"] == [4, 144]
    assert sources(run, forward, step=2) == sources(by_dispatch, forward, step=2)


@pytest.mark.parametrize("capture", ["", "record_function"])
def test_an_op_that_fails_leaves_no_trace(script: Script, capture: str) -> None:
    run = script(
        PREAMBLE
        + """
for _ in range(2):
    y = net(torch.ones(1, 3))
    try:
        y @ torch.ones(2, 2)
    except RuntimeError:
        pass
    y.cos()
    y.sum().backward()
    optimizer.step()
""",
        GRAPHDBG_CAPTURE=capture,
    )
    assert run.returncode == 0, run.stderr
    assert "graphdbg" not in run.stderr
    assert sources(run, "forward/cos", step=2) == ["forward/addmm"]
    assert run.executed(step=2).count("forward/mm") == 0
    assert "backward/mm" in run.executed(step=2)


def test_values_are_known_by_their_memory(script: Script) -> None:
    run = script(
        PREAMBLE
        + """
y = net(torch.ones(2, 3))
y.detach().sin()
y.data.cos()
y.detach()[0].mul_(2)
y.tan()
y.sum().backward()
optimizer.step()
"""
    )
    assert sources(run, "forward/sin") == sources(run, "forward/cos") == ["forward/addmm"] or sources(
        run, "forward/sin"
    ) == ["forward/detach"]
    # A row has been overwritten, so both producers are acceptable for the whole.
    assert run.execution("forward/mul_", step=1)["flags"] & 8
    assert sources(run, "forward/tan") in (["forward/mul_"], ["forward/addmm"])


def test_an_op_in_place_reads_one_value_and_makes_the_next(script: Script) -> None:
    run = script(
        PREAMBLE
        + """
y = net(torch.ones(2, 3))
z = y * 2
z.add_(1)
z.mul_(3)
z.sum().backward()
optimizer.step()
"""
    )
    assert sources(run, "forward/add_") == ["forward/mul"]
    assert sources(run, "forward/mul_") == ["forward/add_"]
    assert sources(run, "forward/sum") == ["forward/mul_"]


def test_tensors_of_inference_have_names_and_values(script: Script) -> None:
    run = script(
        PREAMBLE
        + """
with torch.inference_mode():
    net(torch.ones(1, 3)).add_(1).cos()
"""
    )
    assert run.returncode == 0, run.stderr
    assert sources(run, "forward/add_") == ["forward/addmm"]
    assert sources(run, "forward/cos") == ["forward/add_"]


def test_memory_that_is_used_again_has_no_former_maker(script: Script) -> None:
    run = script(
        PREAMBLE
        + """
import numpy

y = net(torch.ones(1, 3))
for _ in range(200):
    # Each of these may reuse the address of a tensor that an op has produced.
    torch.ones(3).cos()
    torch.from_numpy(numpy.ones(3, dtype=numpy.float32)).sin()
y.sum().backward()
optimizer.step()
"""
    )
    sines = [call for call in run.called("executed", step=1) if call["name"].startswith("forward/sin")]
    assert len(sines) == 200
    # from_numpy itself runs an op that returns its argument.
    makers = {given["from"].rpartition("/")[2].rpartition("_")[0] for call in sines for given in call["inputs"]}
    assert makers <= {"", "lift", "lift_fresh"}


def test_the_interpreters_lock_may_be_held_by_an_op(script: Script) -> None:
    # Indexing and torch.tensor keep the lock, and the agent pauses inside them.
    run = script(
        PREAMBLE
        + """
import threading

beats = []
stop = threading.Event()


def beat():
    while not stop.wait(0.001):
        beats.append(1)


threading.Thread(target=beat, daemon=True).start()
for _ in range(20):
    y = net(torch.ones(4, 3))
    part = y[torch.tensor([0, 2])][:, 1:]
    part.sum().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
stop.set()
print(len(beats) > 0)
"""
    )
    assert (run.returncode, run.stdout) == (0, "True\n"), run.stderr
    assert {"forward/index", "backward/index_put_"} <= {
        name.replace("_impl_", "_").replace("/_index", "/index") for name in run.executed(step=2)
    }


@pytest.mark.parametrize("capture", ["", "record_function"])
def test_an_optimizer_may_step_on_a_thread_of_its_own(script: Script, capture: str) -> None:
    # Its first step is the first thing that the thread does; within it, the program marks a range, too.
    run = script(
        PREAMBLE
        + """
from concurrent.futures import ThreadPoolExecutor
from torch.profiler import record_function


def mark(*_):
    with record_function("a part of it"):
        pass


if hasattr(optimizer, "register_step_pre_hook"):
    optimizer.register_step_pre_hook(mark)


def train():
    net(torch.ones(2, 3)).sum().backward()


train()
optimizer.step()
for _ in range(2):
    train()
    with ThreadPoolExecutor(1) as thread:
        thread.submit(optimizer.step).result()
        thread.submit(torch.cos, torch.ones(1)).result()
train()
optimizer.step()
""",
        GRAPHDBG_CAPTURE=capture,
    )
    assert run.returncode == 0, run.stderr
    assert "graphdbg" not in run.stderr
    updates = [name for name in run.executed(step=2) if name.startswith("optimizer/")]
    assert updates, run.executed(step=2)
    for step in (3, 4):
        assert [name for name in run.executed(step) if name.startswith("optimizer/")] == updates
    # The optimizer's range does not extend to what the thread does after the step.
    assert not any("cos" in name for step in range(1, 5) for name in run.executed(step))
    assert "forward/addmm" in run.executed(step=4)


@pytest.mark.parametrize("capture", ["", "record_function"])
def test_tracing_may_end_and_begin_within_an_optimizers_step(script: Script, capture: str) -> None:
    # Steps end there, and with them levels change.
    run = script(
        PREAMBLE
        + """
for step in range(7):
    net(torch.ones(2, 3)).sum().backward()
    optimizer.step()
""",
        GRAPHDBG_CAPTURE=capture,
        GRAPHDBG_TRACE_LEVEL_AFTER="2:1,4:2,5:0",
    )
    assert run.returncode == 0, run.stderr
    assert not run.executed(step=3) and not run.executed(step=4) and not run.executed(step=6)
    assert run.executed(step=5) == run.executed(step=2)
    assert "forward/addmm" in run.executed(step=5)


def test_a_closure_that_is_called_often_is_one_step(script: Script) -> None:
    run = script(
        PREAMBLE
        + """
optimizer = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=4)


def closure():
    optimizer.zero_grad()
    loss = net(torch.ones(1, 3)).pow(2).sum()
    loss.backward()
    return loss


for _ in range(2):
    print(optimizer.step(closure).item().hex())
"""
    )
    assert len(run.called("step_end")) == 2
    calls = run.executed(step=2).count("forward/addmm")
    assert calls > 1
    assert [run.executed(step=2).count(name) for name in ("forward/pow", "backward/mm")] == [calls, calls]
    assert not {"forward/addmm_1", "optimizer/LBFGS/pow"} & run.nodes.keys()
    assert "optimizer/LBFGS/add_" in run.nodes
    plain = script((script.directory / "train.py").read_text(), GRAPHDBG_ENABLE="0")
    assert run.stdout == plain.stdout


@pytest.mark.newest_torch
def test_steps_around_which_nothing_is_done_are_passed(script: Script) -> None:
    run = script(
        PREAMBLE
        + """
from graphdbg._torch._hooks import passed_steps

passed = []


def step(stepped, *closure):
    before = passed_steps()
    stepped.zero_grad()
    net(torch.ones(1, 3)).sum().backward(create_graph=False)
    stepped.step(*closure)
    passed.append(passed_steps() - before)


def closure():
    return net(torch.ones(1, 3)).pow(2).sum()


# In the first ones, a process group may be made.
for _ in range(15):
    step(optimizer)
step(optimizer, closure)
other = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    step(other)
    step(optimizer)
print(passed[12:])
"""
    )
    # With a second optimizer, each step has to find out whether it ends one of the job.
    assert run.stdout == "[1, 1, 1, 1, 0, 0, 0, 0]\n"
    assert len(run.called("step_end")) == 18
    # The closure's op is the program's.
    assert "forward/pow" in run.nodes and not any(name.startswith("optimizer/Adam/pow") for name in run.nodes)


@pytest.mark.newest_torch
def test_a_step_that_the_scaler_leaves_out_is_a_step(script: Script) -> None:
    run = script(
        PREAMBLE
        + """
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=100)
for factor in (1.0, float("inf"), 1.0):
    optimizer.zero_grad()
    scaler.scale(net(torch.ones(1, 3)).sum() * factor).backward()
    scaler.step(optimizer)
    scaler.update()
print(scaler.get_scale())
"""
    )
    assert run.stdout == "512.0\n"
    assert len(run.called("step_end")) == 3
    first, third = (run.execution("backward/mm", step)["grad_scale"] for step in (1, 3))
    assert (first, third) == (1024, 512)


@pytest.mark.newest_torch
def test_other_layouts_are_left_alone(script: Script) -> None:
    run = script(
        PREAMBLE
        + """
print(net(torch.ones(1, 3)).shape)
if torch.backends.mkldnn.is_available():
    (torch.ones(4, 4).to_mkldnn() + torch.ones(4, 4).to_mkldnn()).to_dense().cos()
strided = torch.ones(1).expand(10**6)
strided.sin()
"""
    )
    assert run.returncode == 0, run.stderr
    assert "graphdbg" not in run.stderr
    assert run.called("executed")[-1]["name"] == "forward/sin"


RANKS = """
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

rank = int(sys.argv[1])
dist.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=rank, world_size=2)
torch.manual_seed(0)
net = nn.parallel.DistributedDataParallel(nn.Linear(3, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    optimizer.zero_grad()
    net(torch.full((1, 3), float(rank + step))).sum().backward()
    optimizer.step()
print([p.sum().item().hex() for p in net.parameters()])
dist.destroy_process_group()
time.sleep(0.5)  # gloo's threads release the last collective, which must not outlive Python
"""


@pytest.mark.newest_torch
def test_ranks_that_train_together_are_followed_each(script: Script, tmp_path: Path) -> None:
    def outputs(store: str, **variables: str) -> list:
        started = [script.start(RANKS, str(rank), str(tmp_path / store), **variables) for rank in range(2)]
        return [script.finish(*each) for each in started]

    plain = outputs("plain", GRAPHDBG_ENABLE="0")
    runs = outputs("debugged")
    assert [run.returncode for run in (*plain, *runs)] == [0] * 4, runs[0].stderr
    assert [run.stdout for run in runs] == [run.stdout for run in plain]
    for run in runs:
        assert len(run.called("step_end")) == 4
        assert "forward/addmm" in run.executed(step=3)
        # DistributedDataParallel regroups gradients into other buckets after the first step.
        assert run.executed(step=4) == run.executed(step=3)


@pytest.mark.parametrize("capture", ["", "record_function"])
def test_ops_with_a_kernel_beside_their_composition_are_nodes(script: Script, capture: str) -> None:
    run = script(
        PREAMBLE
        + """
for _ in range(2):
    y = net(torch.ones(1, 3))
    (nn.functional.silu(y) + nn.functional.mish(y)).sum().backward()
    optimizer.step()
    torch.native_channel_shuffle(torch.ones(1, 4, 2, 2), 2)
""",
        GRAPHDBG_CAPTURE=capture,
    )
    assert run.returncode == 0, run.stderr
    executed = run.executed(step=2)
    assert {"backward/silu_backward", "backward/mish_backward"} <= set(executed)
    assert "backward/sigmoid" not in executed
    assert "forward/native_channel_shuffle" in run.executed(step=2) + run.executed(step=3)
