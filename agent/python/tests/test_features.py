"""Unusual features of PyTorch: the program runs as it does without graphdbg, and its ops are seen."""

from __future__ import annotations

import pytest
from conftest import Script

PREAMBLE = """
import torch
from torch import nn

torch.manual_seed(0)
"""


def trained(script: Script, text: str, **variables: str):
    """Runs a script that must succeed without any message from graphdbg."""
    run = script(PREAMBLE + text, **variables)
    assert run.returncode == 0, run.stderr
    assert "graphdbg:" not in run.stderr
    return run


@pytest.mark.newest_torch
def test_the_profiler_finds_what_it_asks_of_module_calls(script: Script) -> None:
    run = trained(
        script,
        """
import inspect

net = nn.Linear(3, 2)
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], with_stack=True, with_modules=True) as p:
    net(torch.ones(1, 3)).sum().backward()
print(any("nn.Module: Linear" in event.name for event in p.events()))
print(inspect.signature(net.__call__), inspect.ismethod(net.__call__), nn.Module.__call__.__name__)
""",
    )
    assert run.stdout.splitlines()[-2:] == ["True", "(*args, **kwargs) True _wrapped_call_impl"]
    assert "forward/addmm" in run.executed(step=1)


@pytest.mark.newest_torch
def test_parameters_may_have_no_memory(script: Script) -> None:
    run = trained(
        script,
        """
net = nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    net(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    # Sharding frees parameters like this between uses.
    kept = net.weight.data.clone()
    net.weight.untyped_storage().resize_(0)
    nn.Linear(1, 1)(torch.ones(1, 1))
    net.weight.untyped_storage().resize_(kept.untyped_storage().nbytes())
    net.weight.data.copy_(kept)
""",
    )
    assert len(run.called("step_end")) == 3


@pytest.mark.newest_torch
def test_parameters_may_be_swapped(script: Script) -> None:
    run = trained(
        script,
        """
torch.__future__.set_swap_module_params_on_conversion(True)
net = nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for dtype in (torch.float32, torch.float64, torch.float64):
    net.to(dtype)
    optimizer.zero_grad()
    net(torch.ones(1, 3, dtype=dtype)).sum().backward()
    optimizer.step()
""",
    )
    dtypes = [c["tensor"]["dtype"] for c in run.called("parameter") if c["name"] == "forward/weight"]
    assert dtypes[0] != dtypes[-1] == dtypes[-2]
    addmm = run.execution("forward/addmm", step=3)
    assert [i["from"] for i in addmm["inputs"]] == ["forward/bias", "forward/ones", "forward/t"]


COMPILED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, x):
        return torch.relu(self.fc(x))


@torch.compile(fullgraph=True)
def criterion(y):
    return y.exp().sum()


net = torch.compile(Net())
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
torch.compiler.set_stance("default")
for _ in range(2):
    with torch.compiler.set_stance("eager_on_recompile"):
        loss = criterion(net(torch.ones(1, 3)))
    loss.backward()
    optimizer.step()
print(torch._dynamo.utils.counters["stats"]["unique_graphs"])
"""


@pytest.mark.newest_torch
def test_compiled_code_runs_eagerly_and_says_so_once(script: Script) -> None:
    run = trained(script, COMPILED)
    assert run.stdout == "0\n"
    notices = [c["line"] for c in run.called("notify")]
    assert len(notices) == 1 and "GRAPHDBG_COMPILED=keep" in notices[0]
    assert {"forward/fc/addmm", "forward/relu", "forward/exp"} <= set(run.executed(step=2))


@pytest.mark.newest_torch
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_compiled_code_may_stay_compiled(script: Script, backend: str) -> None:
    text = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, x):
        return torch.relu(self.fc(x))


net = torch.compile(Net(), backend="{backend}")
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    y = net(torch.ones(1, 3))
    y.exp().sum().backward()
    optimizer.step()
    print(y.sum().item().hex())
print(torch._dynamo.utils.counters["stats"]["unique_graphs"])
"""
    run = trained(script, text.format(backend=backend), GRAPHDBG_COMPILED="keep")
    plain = script((script.directory / "train.py").read_text(), GRAPHDBG_ENABLE="0")
    assert run.stdout == plain.stdout
    assert run.stdout.splitlines()[-1] == "1"
    assert len(run.called("step_end")) == 3
    name = "forward/compiled_region"
    region = run.execution(name, step=3)
    assert run.nodes[name]["op_type"] == "torch.compile"
    assert [o["shape"] for o in region["outputs"]] == [[1, 2]]
    assert {"forward/fc/weight", "forward/fc/bias"} <= {i["from"] for i in region["inputs"]}
    assert [i["from"] for i in run.execution("forward/exp", step=3)["inputs"]] == [name]
    assert not [n for n in run.nodes if n.endswith(("/relu", "/addmm"))]


@pytest.mark.newest_torch
def test_compiled_code_that_is_undebugged_is_compiled(script: Script) -> None:
    text = COMPILED.replace("eager_on_recompile", "default").replace("compile(full", 'compile(backend="eager", full')
    run = trained(script, text.replace("compile(Net()", 'compile(Net(), backend="eager"'), GRAPHDBG_TRACE_DETACH="1")
    assert run.stdout == "2\n"
    assert run.called("notify") == []


WRITTEN_IN_PYTHON = """
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

unwrapped = lambda value: value.inside if isinstance(value, Wrapper) else value

class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, inside):
        return torch.Tensor._make_wrapper_subclass(cls, inside.shape, dtype=inside.dtype)

    def __init__(self, inside):
        self.inside = inside

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return Wrapper(func(*map(unwrapped, args), **(kwargs or {})))

class Mode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))

net = nn.Linear(3, 3)
y = net(torch.ones(1, 3))
with torch.no_grad():
    Wrapper(torch.full((3,), 1000.0)).exp()
    with Mode(), Mode():
        torch.ones(3).log()
with Mode():
    y.sigmoid().sum().backward()
torch.ones(3).tanh()
"""


@pytest.mark.parametrize("engine", ["", "record_function"])
def test_ops_inside_modes_and_tensors_that_are_written_in_python_are_nodes(script: Script, engine: str) -> None:
    run = script(WRITTEN_IN_PYTHON, GRAPHDBG_CAPTURE=engine)
    assert run.returncode == 0, run.stderr
    assert run.execution("forward/exp", step=1)["outputs"][0]["inf"] == 3
    for name in ("forward/log", "forward/sigmoid", "backward/sigmoid_backward", "forward/tanh"):
        assert run.execution(name, step=1)["outputs"][0]["nan"] == 0


@pytest.mark.newest_torch
def test_shapes_that_a_mode_computes_are_no_nodes(script: Script) -> None:
    run = script("""
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

net = nn.Linear(3, 3)
net(torch.ones(1, 3))
with FakeTensorMode():
    torch.empty(2, 3)
    torch.zeros(3) + 1
torch.ones(3).tanh()
""")
    ops = [name for name in run.executed(step=1) if "empty" in name or "zeros" in name or "add" in name.split("/")[-1]]
    assert [name for name in ops if name != "forward/addmm"] == []
    assert run.execution("forward/tanh", step=1)
