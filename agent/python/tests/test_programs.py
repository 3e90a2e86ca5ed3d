"""Kinds of programs: loops, several models, modules created during training."""

from __future__ import annotations

import pytest
from conftest import Script, line_of

PREAMBLE = """
import torch
from torch import nn

torch.manual_seed(0)
"""


@pytest.mark.from_python
def test_evaluation_meets_the_names_of_its_first_batch(script: Script) -> None:
    run = script(
        PREAMBLE
        + """
net = nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    net.train()
    net(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    net.eval()
    with torch.no_grad():
        for _ in range(5):
            (net(torch.ones(1, 3)) > 0).sum()
"""
    )
    assert [name for name in run.nodes if "addmm" in name] == ["forward/addmm"]
    assert [name for name in run.nodes if "gt" in name] == ["forward/gt"]
    assert run.executed(step=2).count("forward/addmm") == 6
    train, evaluate = 1, 2
    modes = [c["mode"] for c in run.called("executed", step=2) if c["name"] == "forward/addmm"]
    assert modes == [evaluate] * 5 + [train]
    assert {c["mode"] for c in run.called("executed") if c["name"] == "backward/mm"} == {train}


def test_gradient_accumulation_is_one_step_with_one_set_of_names(script: Script) -> None:
    run = script(
        PREAMBLE
        + """
net = nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for batch in range(4):
    net(torch.ones(1, 3)).sum().backward()
    if batch % 2:
        optimizer.step()
        optimizer.zero_grad()
"""
    )
    assert len(run.called("step_end")) == 2
    assert run.executed(step=1).count("backward/mm") == 2
    passes = [c["micro_step"] for c in run.called("executed", step=1) if c["name"] in ("forward/addmm", "backward/mm")]
    assert passes == [1, 1, 2, 2]
    assert "forward/addmm_1" not in run.nodes


def test_two_models_with_an_optimizer_each_make_one_step(script: Script) -> None:
    run = script(
        PREAMBLE
        + """
class Generator(nn.Linear):
    pass


class Critic(nn.Linear):
    pass


g, d = Generator(2, 3), Critic(3, 1)
optimize_g = torch.optim.SGD(g.parameters(), lr=0.1)
optimize_d = torch.optim.SGD(d.parameters(), lr=0.1)
for _ in range(4):
    d(g(torch.ones(1, 2)).detach()).sum().backward()
    optimize_d.step()
    d(g(torch.ones(1, 2))).sum().backward()
    optimize_g.step()
"""
    )
    assert len(run.called("step_end")) == 4
    assert {"forward/g/addmm", "forward/d/addmm", "forward/d/weight"} <= run.nodes.keys()
    # Gradients are created in the first steps and added to later.
    assert run.executed(step=4) == run.executed(step=3)


def test_an_op_does_not_take_the_name_of_a_child_module(script: Script) -> None:
    run = script(
        PREAMBLE
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.relu = nn.ReLU()

    def forward(self, x):
        return torch.relu(self.relu(self.fc(x)))


Net()(torch.ones(1, 3))
"""
    )
    assert {"forward/relu/relu", "forward/relu_1"} <= run.nodes.keys()
    assert "forward/relu" not in run.nodes


def test_modules_made_on_the_way_have_stable_names(script: Script) -> None:
    run = script(
        PREAMBLE
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.hidden = [nn.Linear(3, 3)]

    def forward(self, x):
        x = nn.ReLU()(self.hidden[0](self.first(x)))
        if not hasattr(self, "late"):
            self.late = nn.Linear(3, 2)
        return self.late(x)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = nn.MSELoss()(net(torch.ones(1, 3)), torch.ones(1, 2))
    loss.backward()
    optimizer.step()
"""
    )
    assert run.executed(step=3) == run.executed(step=2)
    assert {
        "forward/Linear/addmm",
        "forward/ReLU/relu",
        "forward/late/addmm",
        "forward/late/weight",
        "forward/MSELoss/mse_loss",
    } <= run.nodes.keys()


def test_a_new_model_of_the_same_kind_takes_the_place_of_the_old_one(script: Script) -> None:
    run = script(
        PREAMBLE
        + """
def fold():
    net = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        net(torch.ones(1, 3)).sum().backward()
        optimizer.step()


fold()
fold()
"""
    )
    assert len(run.called("step_end")) == 4
    assert run.executed(step=4) == run.executed(step=2)
    assert not [name for name in run.nodes if "Linear" in name]


@pytest.mark.from_python
def test_an_exception_in_forward_leaves_no_scope_open(script: Script) -> None:
    run = script(
        PREAMBLE
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))

    def forward(self, x):
        return self.block(x)


net = Net()
for width in (3, 4, 3):
    try:
        net(torch.ones(1, width))
    except RuntimeError:
        print("failed")
torch.ones(2).cos()
"""
    )
    assert run.stdout == "failed\n"
    assert "forward/cos" in run.nodes
    assert run.called("executed")[-2]["name"] == "forward/ones"


def test_recomputed_forward_is_part_of_the_backward_pass(script: Script) -> None:
    run = script(
        PREAMBLE
        + """
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.outer = nn.Linear(3, 1)

    def forward(self, x):
        return self.outer(checkpoint(self.inner, x, use_reentrant=False))


Net()(torch.ones(1, 3)).sum().backward()
"""
    )
    assert {"forward/inner/addmm", "backward/inner/addmm", "backward/inner/mm"} <= run.nodes.keys()
    assert not [name for name in run.nodes if name.startswith("forward/inner/addmm_")]
    recomputed, activation = 1, 3
    assert run.nodes["backward/inner/addmm"]["flags"] == recomputed
    assert run.nodes["backward/inner/addmm"]["category"] == activation
    assert run.nodes["backward/inner/mm"]["flags"] == 0


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_recomputed_ops_outside_modules_are_marked(script: Script, use_reentrant: bool) -> None:
    text = """
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        return checkpoint(lambda y: y.cos(), self.fc(x), use_reentrant={reentrant})  # cos


Net()(torch.ones(1, 3)).sum().backward()
"""
    script_text = PREAMBLE + text.format(reentrant=use_reentrant)
    run = script(script_text)
    recomputed = {name: node for name, node in run.nodes.items() if node["flags"] == 1}
    assert [name.rpartition("/")[2] for name in recomputed if name.endswith("cos")] == ["cos"]
    cos = next(name for name in recomputed if name.endswith("cos"))
    assert cos.startswith("backward") and recomputed[cos]["category"] == 3
    assert run.user_line(cos) == line_of(script_text, "cos")
    assert run.nodes["backward/sin"]["flags"] == 0


def test_gradients_of_gradients_are_not_recomputed(script: Script) -> None:
    run = script(
        PREAMBLE
        + """
net = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
x = torch.ones(1, 3, requires_grad=True)
(gradient,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
gradient.pow(2).sum().backward()
"""
    )
    assert run.executed(step=1).count("backward/1/tanh_backward") == 1
    assert [name for name, node in run.nodes.items() if node["flags"]] == []


@pytest.mark.from_python
def test_without_an_optimizer_a_step_is_a_call_of_the_model(script: Script) -> None:
    text = """
net = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
with torch.set_grad_enabled({grad}):
    for _ in range(3):
        net(torch.ones(1, 3))
"""
    without = script(PREAMBLE + text.format(grad=False))
    assert [c["step"] for c in without.called("step_end")] == [1, 2, 3]
    # With gradients a backward pass may follow, so the step ends at the next call or
    # with the program.
    recorded = script(PREAMBLE + text.format(grad=True))
    assert [c["step"] for c in recorded.called("step_end")] == [1, 2, 3]
    # Ops before a call belong to the previous step.
    assert [*recorded.executed(step=3), "forward/ones"] == recorded.executed(step=2)


def test_evaluation_before_the_first_training_step_is_no_step(script: Script) -> None:
    run = script(
        PREAMBLE
        + """
net = nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
with torch.no_grad():
    net(torch.ones(1, 3))
net(torch.ones(1, 3)).sum().backward()
optimizer.step()
"""
    )
    assert len(run.called("step_end")) == 1


def test_a_program_without_modules_starts_when_its_optimizer_is_made(script: Script) -> None:
    run = script(
        PREAMBLE
        + """
w = torch.ones(3, requires_grad=True)
weights = [torch.ones(3, requires_grad=True)]
optimizer = torch.optim.SGD([w, weights[0]], lr=0.1)
for _ in range(2):
    optimizer.zero_grad(set_to_none=True)
    loss = (w * weights[0]).sum()
    loss.backward()
    optimizer.step()
"""
    )
    assert len(run.called("start")) == 1
    assert len(run.called("step_end")) == 2
    assert [c["name"] for c in run.called("parameter", step=0)] == ["forward/w", "forward/parameter_1"]
    assert run.executed(step=2) == run.executed(step=1)
    assert [i["from"] for i in run.execution("forward/mul", step=1)["inputs"]] == ["forward/w", "forward/parameter_1"]


def test_a_program_without_modules_and_optimizers_steps_with_its_backward_passes(script: Script) -> None:
    run = script(
        PREAMBLE
        + """
w = torch.ones(3, requires_grad=True)
for _ in range(3):
    loss = (w * w).sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
"""
    )
    assert len(run.called("start")) == 1
    assert len(run.called("step_end")) == 3
    assert run.executed(step=3) == run.executed(step=2)
    assert {"forward/mul", "backward/mul"} <= set(run.executed(step=2))


def test_gradients_that_are_returned_make_steps_too(script: Script) -> None:
    run = script(
        PREAMBLE
        + """
w = torch.ones(3, requires_grad=True)
for _ in range(3):
    (slope,) = torch.autograd.grad((w * w).sum(), w, create_graph=True)
    (gradient,) = torch.autograd.grad(slope.sum(), w)
    w = (w - 0.1 * gradient).detach().requires_grad_()
"""
    )
    assert len(run.called("step_end")) == 3
    assert run.executed(step=3) == run.executed(step=2)


def test_a_module_without_parameters_may_be_the_model(script: Script) -> None:
    run = script(
        PREAMBLE
        + """
import torch.fx


class Net(nn.Module):
    def forward(self, x, w):
        return torch.relu(x @ w).sum()


net = torch.fx.symbolic_trace(Net())
w = torch.ones(3, 2, requires_grad=True)
for _ in range(2):
    net(torch.ones(1, 3), w).backward()
"""
    )
    assert {"forward/Net/x", "forward/Net/w", "forward/Net/relu"} <= set(run.executed(step=1))
    assert len(run.called("step_end")) == 2


def test_ops_before_the_first_step_are_not_captured(script: Script) -> None:
    run = script(
        PREAMBLE
        + """
torch.ones(3).cos()
nn.Flatten()(torch.ones(3, 3)).tan()
net = nn.Linear(3, 2)
net(torch.ones(1, 3))
"""
    )
    assert not [name for name in run.nodes if name.endswith(("cos", "tan", "uniform_"))]
    assert run.executed(step=1) == ["forward/input", "forward/t", "forward/addmm"]


def test_ops_of_other_threads_do_not_shift_names(script: Script) -> None:
    run = script(
        PREAMBLE
        + """
import threading

net = nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    other = threading.Thread(target=lambda: torch.ones(3).mul(2).sum())
    other.start()
    other.join()
    net(torch.ones(1, 3)).mul(2).sum().backward()
    optimizer.step()
"""
    )
    assert "forward/mul_1" not in run.nodes
    assert run.executed(step=3) == run.executed(step=2)


def test_a_loop_over_elements_does_not_fill_the_graph(script: Script) -> None:
    run = script(
        PREAMBLE
        + """
nn.Linear(3, 2)(torch.ones(1, 3))
x = torch.arange(5000.0)
for i in range(5000):
    x[i].cos()
"""
    )
    assert len([name for name in run.nodes if "cos" in name]) == 4096


@pytest.mark.from_python
def test_following_begins_and_ends_at_a_step(script: Script) -> None:
    text = (
        PREAMBLE
        + """
net = nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    net(torch.ones(1, 3)).sum().backward()
    optimizer.step()
"""
    )
    whole = script(text)
    late = script(text, GRAPHDBG_TRACE_LEVEL="1", GRAPHDBG_TRACE_LEVEL_AFTER="2:2")
    assert [late.executed(step) for step in (1, 2)] == [[], []]
    assert set(late.executed(step=4)) == set(whole.executed(step=4))
    off = script(text, GRAPHDBG_TRACE_LEVEL_AFTER="2:0")
    assert off.executed(step=2) and not off.executed(step=3)
    assert len(off.called("step_end")) == 4


def test_nothing_is_missed_after_idle_steps(script: Script) -> None:
    text = (
        PREAMBLE
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3)])
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(8):
    if step == 3:
        added = nn.Linear(3, 3)
        net.layers.append(added)
        optimizer.add_param_group({"params": added.parameters()})
    net(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    with torch.no_grad():
        net.eval()
        net(torch.ones(1, 3))
        net.train()
"""
    )
    late = {"GRAPHDBG_TRACE_LEVEL": "1", "GRAPHDBG_TRACE_LEVEL_AFTER": "5:2"}
    idle, awake = script(text, GRAPHDBG_TRACE_IDLE="1", **late), script(text, **late)
    assert len(idle.called("step_end")) == 8
    # The steps between are idle from the end of the first one on.
    assert idle.called("begin_pass", step=1) and not idle.called("begin_pass", step=3)
    for step in (6, 7):
        assert any("layers.1" in name or "layers/1" in name for name in awake.executed(step))
        assert idle.executed(step) == awake.executed(step)
