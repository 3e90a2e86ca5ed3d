"""The debugger sees bad values where they arise, and changes no values."""

from __future__ import annotations

import pytest
from conftest import Json, Run, Script, line_of, user_line
from scripts import CNN


def bad(run: Run) -> list[Json]:
    """Executions with NaN or infinity in an output, in order."""
    return [
        call for call in run.called("executed") if any(o.get("nan", 0) + o.get("inf", 0) > 0 for o in call["outputs"])
    ]


@pytest.mark.from_python
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_losses_are_the_same_to_the_last_bit(script: Script, optimizer: str) -> None:
    plain = script(CNN, optimizer, GRAPHDBG_ENABLE="0")
    debugged = script(CNN, optimizer, GRAPHDBG_TRACE_RETAIN="1")
    assert plain.calls == []
    assert len(debugged.called("executed")) > 100
    assert len(plain.stdout.split()) == 4
    assert debugged.stdout == plain.stdout


LOG_OF_ZERO = """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    scale = 1000 if step == 2 else 1
    p = torch.softmax(scale * net(torch.randn(8, 4)), dim=1)
    loss = -torch.log(p)[:, 0].mean()  # log
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.from_python
def test_infinity_of_a_log_is_seen_at_the_log(script: Script) -> None:
    first = bad(script(LOG_OF_ZERO))[0]
    assert (first["name"], first["step"]) == ("forward/log", 3)
    assert user_line(first["stack"]) == line_of(LOG_OF_ZERO, "log")


@pytest.mark.from_python
def test_backward_hit_has_the_forward_line(script: Script) -> None:
    text = """
import torch
from torch import nn

net = nn.Linear(2, 2, bias=False)
nn.init.zeros_(net.weight)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
norm = net(torch.ones(1, 2)).pow(2).sum().sqrt()  # sqrt
norm.backward()
"""
    first = bad(script(text))[0]
    assert first["name"].startswith("backward/")
    assert user_line(first["stack"]) == line_of(text, "sqrt")


@pytest.mark.from_python
def test_hit_in_a_users_own_backward_has_the_line_there(script: Script) -> None:
    text = """
import torch
from torch import nn


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return grad / 0.0  # division


net = nn.Linear(2, 2)
Square.apply(net(torch.ones(1, 2))).sum().backward()
"""
    first = bad(script(text))[0]
    assert first["name"] == "backward/div"
    assert user_line(first["stack"]) == line_of(text, "division")
    assert script(text).nodes["backward/div"]["forward"] == "forward/mul"


@pytest.mark.from_python
def test_numbers_that_the_user_wrote_are_marked_as_meant(script: Script) -> None:
    run = script("""
import torch
from torch import nn

net = nn.Linear(3, 3)
with torch.no_grad():
    x = net(torch.ones(3, 3))
    mask = torch.eye(3, dtype=torch.bool)
    x.masked_fill(mask, float("-inf"))
    torch.where(mask, x, float("inf"))
    torch.full((2,), float("nan"))
    torch.ones(1) / 0
""")
    explicit = 4
    flags = {call["name"]: call["flags"] & explicit for call in bad(run)}
    assert flags == {
        "forward/masked_fill": explicit,
        "forward/scalar_tensor": explicit,
        "forward/where": explicit,
        "forward/full": explicit,
        "forward/div": 0,
    }


def test_copies_that_narrow_the_type_are_no_mere_copies(script: Script) -> None:
    run = script("""
import torch
from torch import nn

nn.Linear(3, 3)(torch.ones(1, 3))
torch.zeros(2, dtype=torch.float16).copy_(torch.full((2,), 1e9))
torch.zeros(2).copy_(torch.ones(2))
""")
    copies = [call["flags"] & 2 for call in run.called("executed") if "copy_" in call["name"]]
    assert copies == [0, 2]


def test_tensors_without_plain_memory_are_left_alone(script: Script) -> None:
    run = script("""
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

net = nn.Linear(3, 3)
net(torch.ones(1, 3))
torch.eye(3).to_sparse() * 2
torch.quantize_per_tensor(torch.randn(4), 0.1, 0, torch.qint8).dequantize()
with FakeTensorMode():
    nn.Linear(3, 3)(torch.empty(2, 3))
nn.Linear(3, 3, device="meta")(torch.empty(2, 3, device="meta"))
torch.ones(3) + 1
print("done")
""")
    assert (run.returncode, run.stdout) == (0, "done\n"), run.stderr
    assert "graphdbg" not in run.stderr
    assert run.called("executed")[-1]["name"].startswith("forward/add")


def test_what_an_op_keeps_for_its_backward_is_not_shown(script: Script) -> None:
    run = script("""
import torch
from torch import nn

logits = nn.Linear(3, 4)(torch.ones(5, 1, 3)).log_softmax(-1)
nn.functional.ctc_loss(logits, torch.tensor([[1, 2]]), torch.tensor([5]), torch.tensor([2])).backward()
torch.tensor([0.0, -float("inf")]).cos()
""")
    assert len(run.execution("forward/_ctc_loss", step=1)["outputs"]) == 1
    # detach_ changes how its argument is viewed, not the values in it.
    detach = [call for call in run.called("executed") if call["name"].startswith("forward/detach_")]
    assert {call["flags"] & 8 for call in detach} == {0}


@pytest.mark.newest_torch
def test_newer_kinds_of_tensors_are_left_alone(script: Script) -> None:
    run = script("""
import torch
from torch import nn

nn.Linear(3, 3)(torch.ones(1, 3))
torch.eye(3).to_sparse_csr() * 2
torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]).cos()
torch.vmap(lambda x: x.sin())(torch.randn(3, 4))
lazy = torch._lazy_clone(torch.ones(3))
lazy + 1
assert torch._C._is_cow_tensor(lazy)
print("done")
""")
    assert (run.returncode, run.stdout) == (0, "done\n"), run.stderr
    assert "graphdbg" not in run.stderr
    assert run.called("executed")[-1]["name"].startswith("forward/add")


def test_foreach_optimizers_have_their_results(script: Script) -> None:
    run = script("""
import torch
from torch import nn

net = nn.Linear(3, 2)
optimizer = torch.optim.Adam(net.parameters(), foreach=True)
net(torch.ones(1, 3)).sum().backward()
optimizer.step()
""")
    update = run.execution("optimizer/Adam/_foreach_addcdiv_", step=1)
    assert update["flags"] == 8
    assert [o["shape"] for o in update["outputs"]] == [[2, 3], [2]]


@pytest.mark.newest_torch
def test_fused_optimizers_have_their_results(script: Script) -> None:
    run = script("""
import torch
from torch import nn

net = nn.Linear(3, 2)
optimizer = torch.optim.Adam(net.parameters(), fused=True)
net(torch.ones(1, 3)).sum().backward()
optimizer.step()
""")
    fused = run.execution("optimizer/Adam/_fused_adam_", step=1)
    assert [o["shape"] for o in fused["outputs"]][:2] == [[2, 3], [2]]
    assert fused["inputs"][0]["from"] == "forward/weight"


def test_generated_code_is_not_the_users(script: Script) -> None:
    text = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Linear(2, 2)

    def forward(self, x):
        return torch.sqrt(self.scale(x) - 1000.0)

net = torch.fx.symbolic_trace(Net())
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(2):
    loss = net(torch.ones(1, 2)).sum()  # call
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
    first = bad(script(text))[0]
    assert first["name"].endswith("sqrt")
    assert user_line(first["stack"]) == line_of(text, "call")
