"""Nodes have the names, links and source lines that users expect."""

from __future__ import annotations

import pytest
from conftest import Run, Script, line_of
from scripts import CNN

FORWARD = [
    "forward/conv/convolution",
    "forward/bn/add_",
    "forward/bn/native_batch_norm",
    "forward/relu/relu",
    "forward/view",
    "forward/fc/t",
    "forward/fc/addmm",
    "forward/CrossEntropyLoss/_log_softmax",
    "forward/CrossEntropyLoss/nll_loss_forward",
]

BACKWARD = [
    "backward/CrossEntropyLoss/nll_loss_backward",
    "backward/CrossEntropyLoss/_log_softmax_backward_data",
    "backward/fc/mm",
    "backward/relu/threshold_backward",
    "backward/bn/native_batch_norm_backward",
    "backward/conv/convolution_backward",
]


INPUTS = """
import torch
from torch import nn

from graphdbg._torch.modules import ModuleTree


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, x, scale=None, *, offset=None):
        x = x[0] if isinstance(x, list) else x
        x = self.fc(x if scale is None else x * scale)
        return x if offset is None else x + offset


class Sub(torch.Tensor):
    pass


in_python, original = [], ModuleTree.give_inputs
ModuleTree.give_inputs = lambda *args, **kwargs: (in_python.append(step), original(*args, **kwargs))
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, scale, sub = torch.ones(1, 3), torch.ones(3), torch.ones(1, 3).as_subclass(Sub)
calls = [
    lambda: net(x), lambda: net(x), lambda: net(x.clone()), lambda: net(x, scale), lambda: net(x, scale),
    lambda: net(x), lambda: net(x, scale=scale), lambda: net([x], scale), lambda: net(x, None),
    lambda: net(sub), lambda: net(x, scale, offset=torch.ones(2)), lambda: net(x, scale), lambda: net(x, scale),
]
for step, call in enumerate(calls, 1):
    call().sum().backward()
    optimizer.step()
print(*in_python)
"""


@pytest.fixture(scope="module")
def cnn(stage, tmp_path_factory) -> Run:
    return Script(stage, tmp_path_factory.mktemp("cnn"))(CNN, "SGD")


def test_ops_are_named_by_their_modules(cnn: Run) -> None:
    executed = cnn.executed(step=1)
    assert [name for name in executed if name in FORWARD] == FORWARD
    assert [name for name in executed if name in BACKWARD] == BACKWARD
    assert [name for name in executed if name.startswith("optimizer/")][:2] == [
        "optimizer/SGD/add_",
        "optimizer/SGD/add__1",
    ]


@pytest.mark.from_python
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_names_are_the_same_in_every_step_and_every_run(script: Script, optimizer: str) -> None:
    first, second = script(CNN, optimizer), script(CNN, optimizer)
    assert len(first.executed(step=2)) > 20
    # Adam creates its state in the first step.
    assert first.executed(step=3) == first.executed(step=2)
    assert [n for n in first.executed(step=1) if not n.startswith("optimizer/")] == [
        n for n in first.executed(step=2) if not n.startswith(("optimizer/", "forward/rand"))
    ]
    assert [c["name"] for c in second.called("executed")] == [c["name"] for c in first.called("executed")]


@pytest.mark.from_python
def test_keeping_tensors_changes_no_names(script: Script) -> None:
    # The autograd engine adds gradients in place only if nothing else refers to them.
    # The gradient of a residual connection is such a sum.
    text = CNN.replace("x = self.relu(", "x = self.conv(x); x = x + self.relu(").replace(
        "self.bn(self.conv(x))", "self.bn(x)"
    )
    without, kept = script(text, "SGD"), script(text, "SGD", GRAPHDBG_TRACE_RETAIN="1")
    assert any(name.endswith("/add") for name in without.executed(step=2) if name.startswith("backward/"))
    assert [c["name"] for c in kept.called("executed")] == [c["name"] for c in without.called("executed")]
    assert kept.stdout == without.stdout


def test_parameters_and_scopes_are_there_before_the_first_step(cnn: Run) -> None:
    start = cnn.calls.index(cnn.called("start")[0])
    before = cnn.calls[:start]
    assert {c["name"]: c["type"] for c in before if c["call"] == "scope"} == {
        "forward": "Net",
        "forward/conv": "Conv2d",
        "forward/bn": "BatchNorm2d",
        "forward/relu": "ReLU",
        "forward/fc": "Linear",
    }
    nodes = {c["name"]: c for c in before if c["call"] == "node"}
    assert nodes["forward/conv/weight"]["kind"] == 2
    assert nodes["forward/conv/weight"]["category"] == 1
    assert nodes["forward/bn/running_mean"]["kind"] == 3
    values = {c["name"]: c["tensor"] for c in cnn.called("parameter", step=0)}
    assert values["forward/conv/weight"]["shape"] == [4, 1, 3, 3]
    assert not [c for c in before if c["call"] == "executed"]


def test_parameters_follow_training(cnn: Run) -> None:
    means = [c["tensor"]["mean"] for c in cnn.called("parameter") if c["name"] == "forward/fc/weight"]
    assert len(set(means)) == len(means) == 5


def test_categories(cnn: Run) -> None:
    category = {name: node["category"] for name, node in cnn.nodes.items()}
    assert category["forward/conv/convolution"] == 3
    assert category["forward/view"] == 3
    assert category["forward/randn"] == 0
    assert category["backward/conv/convolution_backward"] == 2
    assert category["optimizer/SGD/add_"] == 4


def test_source_is_the_users_own_line(cnn: Run) -> None:
    conv, fc, loss = (line_of(CNN, mark) for mark in ("conv", "fc", "loss"))
    assert cnn.user_line("forward/conv/convolution") == conv
    assert cnn.user_line("forward/fc/addmm") == fc
    assert cnn.user_line("forward/CrossEntropyLoss/_log_softmax") == loss
    stack = cnn.nodes["forward/conv/convolution"]["stack"]
    assert [f["function"] for f in stack if f["user"]] == ["Net.forward", "<module>"]
    assert stack[0]["file"].endswith("torch/nn/modules/conv.py")


def test_backward_ops_know_their_forward_op_and_have_its_line(cnn: Run) -> None:
    assert cnn.nodes["backward/conv/convolution_backward"]["forward"] == "forward/conv/convolution"
    assert cnn.user_line("backward/conv/convolution_backward") == line_of(CNN, "conv")
    assert cnn.nodes["backward/fc/mm"]["forward"] == "forward/fc/addmm"
    # The op that stores the gradient of a parameter belongs to the parameter.
    assert cnn.nodes["backward/conv/detach"]["forward"] == "forward/conv/weight"
    assert cnn.user_line("backward/conv/detach") == line_of(CNN, "backward")


def test_optimizer_ops_have_the_line_that_steps(cnn: Run) -> None:
    assert cnn.user_line("optimizer/SGD/add_") == line_of(CNN, "step")


def test_inputs_know_the_nodes_that_made_them(cnn: Run) -> None:
    def origins(name: str) -> list[str]:
        return [f"{i['from']}:{i['slot']}" for i in cnn.execution(name, step=3)["inputs"]]

    assert origins("forward/conv/convolution") == ["forward/randn:0", "forward/conv/weight:0", "forward/conv/bias:0"]
    assert origins("forward/fc/addmm") == ["forward/fc/bias:0", "forward/view:0", "forward/fc/t:0"]
    assert origins("forward/fc/t") == ["forward/fc/weight:0"]
    assert origins("backward/bn/native_batch_norm_backward")[-1] == "forward/bn/native_batch_norm:2"
    assert origins("optimizer/SGD/add_") == ["forward/conv/weight:0", "backward/conv/detach:0"]


def test_flags_tell_what_an_op_may_have_done(cnn: Run) -> None:
    uninitialized, moves, in_place, view = 1, 2, 8, 32
    assert cnn.execution("forward/bn/empty", step=2)["flags"] == uninitialized
    assert cnn.execution("forward/view", step=2)["flags"] == moves | view
    assert cnn.execution("optimizer/SGD/add_", step=2)["flags"] == in_place
    assert cnn.execution("forward/conv/convolution", step=2)["flags"] == 0


def test_steps_are_the_optimizers(cnn: Run) -> None:
    assert [c["step"] for c in cnn.called("step_end")] == [1, 2, 3, 4]


MODELS = """
import sys

import torch
from torch import nn


class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x)


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = Part(), Part()

    def step(self, x):
        return self.decoder(self.encoder(x))


class Wrapper(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)


class Trainer:
    def __init__(self):
        self.teacher, self.students = Part(), [Part(), Part()]

    def run(self):
        x = torch.ones(1, 3)
        return self.teacher(x) + sum(model(x) for model in self.students)


def call(model):
    return model(torch.ones(1, 3))


def main(case):
    if case == "alone":
        net = Part()
        call(net)
    elif case == "wrapped":
        net = Part()
        call(Wrapper(net))
    elif case == "two":
        generator, critic = Part(), Part()
        call(generator), call(critic)
    elif case == "method":
        Whole().step(torch.ones(1, 3))
    elif case == "parts":
        net = Whole()
        call(net.decoder), call(net.encoder)
    elif case == "trainer":
        trainer = Trainer()
        trainer.run()
    elif case == "later":
        net = Part()
        call(net)
        second = Part()
        call(second)


main(sys.argv[1])
"""


@pytest.mark.from_python
@pytest.mark.parametrize(
    ("case", "paths"),
    [
        ("alone", {""}),
        ("wrapped", {""}),
        ("two", {"generator/", "critic/"}),
        ("method", {"encoder/", "decoder/"}),
        ("parts", {"encoder/", "decoder/"}),
        ("trainer", {"teacher/", "students_0/", "students_1/"}),
        ("later", {"", "second/"}),
    ],
)
def test_models_are_named_by_what_holds_them(script: Script, case: str, paths: set[str]) -> None:
    run = script(MODELS, case)
    assert run.returncode == 0, run.stderr
    ops = {name for name in run.executed(step=1) if name.endswith("/addmm")}
    assert {f"forward/{path}layer/addmm" for path in paths} <= run.nodes.keys()
    assert all(any(name == f"forward/{path}layer/addmm" for path in paths) for name in ops)
    # Parameters have the names of the ops' modules.
    assert {f"forward/{path}layer/weight" for path in paths} <= run.nodes.keys()


@pytest.mark.from_python
def test_looking_for_names_keeps_no_tensors(script: Script) -> None:
    run = script("""
import weakref

import torch


class Data:
    pass


def main():
    net = torch.nn.Linear(3, 1)
    data = Data()
    kept = weakref.ref(data)
    net(torch.ones(1, 3))
    data = None
    print(kept())


main()
""")
    assert run.stdout == "None\n", run.stderr


def test_inputs_have_the_names_of_arguments_however_the_model_is_called(script: Script) -> None:
    run = script(INPUTS)
    names = {"x", "x.0", "scale", "offset"}
    expected = [
        "x",
        "x",
        "x",
        "x scale",
        "x scale",
        "x",
        "x scale",
        "x.0 scale",
        "x",
        "x",
        "x scale offset",
        "x scale",
        "x scale",
    ]
    for step, given in enumerate(expected, 1):
        executed = [name.removeprefix("forward/") for name in run.executed(step)]
        assert [name for name in executed if name in names] == given.split(), step
    # Calls with as many tensors as before need no Python code.
    assert run.stdout.split() == ["1", "4", "6", "7", "8", "9", "10", "11", "12"]
