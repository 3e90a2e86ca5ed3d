"""Values of a paused job: all types and shapes, the previous step, values that are no
longer available, and tensors of more than 4 GiB."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Server, wait_until
from graphdbg.cli.client import ApiError

# A model with a buffer of each kind. It prints their values as JSON.
KINDS = """
import json
import torch
from torch import nn

base = torch.tensor([0, 1, 2, 100])
values = {name: base.to(getattr(torch, name)) for name in
          "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64".split()}
values["complex64"] = torch.complex(base.float(), -base.float())
values["complex128"] = values["complex64"].to(torch.complex128)
values["float8_e4m3fn"] = torch.tensor([0.0, 1.0, -2.5, 448.0]).to(torch.float8_e4m3fn)
values["float8_e5m2"] = torch.tensor([0.0, 1.0, -2.5, 57344.0]).to(torch.float8_e5m2)
values["scalar"] = torch.tensor(7.5)
values["ten_dimensions"] = torch.arange(32.0).reshape(1, 2, 1, 2, 1, 2, 1, 2, 1, 2)
values["empty"] = torch.zeros(3, 0, 2)
values["transposed"] = torch.arange(12.0).reshape(3, 4).t()
values["every_other"] = torch.arange(10)[1::3]
values["expanded"] = torch.tensor([5.0]).expand(1 << 20, 1 << 13)
values["largest"] = torch.tensor([2**64 - 1], dtype=torch.uint64)


def as_list(tensor):
    if tensor.is_complex():
        return torch.view_as_real(tensor).tolist()
    return (tensor.float() if "float8" in str(tensor.dtype) else tensor).tolist()


class Kinds(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
        for name, value in values.items():
            self.register_buffer("b_" + name, value)

    def forward(self, x):
        return x * self.weight


print(json.dumps({name: as_list(value) for name, value in values.items() if name != "expanded"}), flush=True)
net = Kinds()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.ones(2)).sum().backward()
optimizer.step()
"""


def write(directory: Path, text: str) -> list[str]:
    script = directory / "train.py"
    script.write_text(text)
    return [sys.executable, str(script)]


def test_every_type_and_shape_is_read_as_it_is(server: Server, start_job, tmp_path: Path) -> None:
    job = start_job(write(tmp_path, KINDS), server.job_environment(GRAPHDBG_JOB="kinds"))
    expected = json.loads(job.stdout.readline())
    server.wait_for_state("kinds", "paused")

    def tensor(name: str, **more: str) -> dict[str, Any]:
        return server.client.get("/jobs/kinds/tensor", name=f"forward/b_{name}:0", **more)

    for name, values in expected.items():
        assert tensor(name)["data"] == values, name
    for name in ("bool", "uint32", "bfloat16", "complex128", "float8_e4m3fn"):
        assert tensor(name)["dtype"] == name
    assert tensor("scalar")["shape"] == []
    assert tensor("ten_dimensions", slice="[0,1,0,:,0,1,0,0,0,1]")["data"] == [21, 29]
    assert tensor("transposed", slice="[1:3,::-1]")["data"] == [[9, 5, 1], [10, 6, 2]]
    # 2^33 elements that share four bytes.
    assert tensor("expanded", slice="[-1,-3:]")["data"] == [5, 5, 5]


STEPS = """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(8):
    optimizer.zero_grad()
    net(torch.randn(5, 3)).pow(2).mean().backward()
    optimizer.step()
"""


def assert_gone(server: Server, job: str, **query: str) -> None:
    with pytest.raises(ApiError) as error:
        server.client.get(f"/jobs/{job}/tensor", **query)
    assert error.value.code == "value_gone"


def test_stepping_has_every_parameter_of_the_step_before(server: Server, start_job, tmp_path: Path) -> None:
    start_job(write(tmp_path, STEPS), server.job_environment(GRAPHDBG_JOB="steps"))
    server.wait_for_state("steps", "paused")
    parameters = [f"forward/{layer}/{kind}:0" for layer in (0, 2) for kind in ("weight", "bias")]

    def values(**query: str) -> dict[str, Any]:
        return {name: server.client.get("/jobs/steps/tensor", name=name, **query)["data"] for name in parameters}

    before = values()
    assert_gone(server, "steps", name=parameters[0], step="previous")
    for step in (1, 2, 3):
        server.control("steps", "step", steps=1)
        server.wait_for_state("steps", "paused", step=step)
        assert values(step="previous") == before
        assert values(step=str(step - 1)) == before
        now = values()
        assert all(now[name] != before[name] for name in parameters)
        before = now


def test_a_value_that_is_gone_can_be_caught(server: Server, start_job, tmp_path: Path) -> None:
    environment = server.job_environment(GRAPHDBG_JOB="partial", GRAPHDBG_PARTIAL_MEM="1")
    start_job(write(tmp_path, STEPS), environment)
    server.wait_for_state("partial", "paused")
    server.control("partial", "step", steps=1)
    server.wait_for_state("partial", "paused", step=1)
    assert_gone(server, "partial", name="forward/1/relu:0")
    server.client.post("/jobs/partial/tensor/catch", {"node": "forward/1/relu"})
    server.control("partial", "step", steps=1)
    server.wait_for_state("partial", "paused", step=2)
    caught = server.client.get("/jobs/partial/tensor", name="forward/1/relu:0")
    assert caught["shape"] == [5, 4] and caught["step"] == 2
    assert_gone(server, "partial", name="forward/0/addmm:0")
    with pytest.raises(ApiError) as error:
        server.client.post("/jobs/partial/tensor/catch", {"node": "forward/nothing"})
    assert error.value.code == "unknown_node"


def test_what_an_op_wrote_over_is_marked(server: Server, start_job, tmp_path: Path) -> None:
    text = STEPS.replace("nn.ReLU()", "nn.ReLU(inplace=True)")
    start_job(write(tmp_path, text), server.job_environment(GRAPHDBG_JOB="inplace"))
    server.wait_for_state("inplace", "paused")
    server.control("inplace", "step", steps=1)
    server.wait_for_state("inplace", "paused", step=1)

    def overwritten(name: str) -> bool:
        marked: bool = server.client.get("/jobs/inplace/tensor", name=name)["overwritten"]
        return marked

    assert overwritten("forward/0/addmm:0")
    assert not overwritten("forward/1/relu_:0")
    # A recheck does not mistake the overwritten memory for the op's output.
    spec = {"condition": {"id": "min_lt", "params": {"value": 1e9}}, "patterns": ["forward/**"]}
    server.client.post("/jobs/inplace/watchpoints", spec)
    server.control("inplace", "recheck")

    def hit_nodes() -> set[str]:
        return {hit["node"] for hit in server.client.get("/jobs/inplace/hits")["hits"]}

    nodes = wait_until(
        "hits of the recheck", lambda: {"forward/1/relu_", "forward/2/weight"} <= hit_nodes() and hit_nodes()
    )
    assert "forward/0/addmm" not in nodes


LARGE = """
import torch
from torch import nn

net = nn.Linear(2, 2)
net.register_buffer("large", torch.zeros(1 << 30, 5, dtype=torch.uint8))
net.large[-1] = torch.arange(5)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.ones(1, 2)).sum().backward()
optimizer.step()
"""


@pytest.mark.skipif("GRAPHDBG_LARGE_TESTS" not in os.environ, reason="takes 6 GB: set GRAPHDBG_LARGE_TESTS=1")
def test_a_tensor_over_four_gigabytes_is_cut_in_the_job(server: Server, start_job, tmp_path: Path) -> None:
    start_job(write(tmp_path, LARGE), server.job_environment(GRAPHDBG_JOB="large"))
    server.wait_for_state("large", "paused")
    tail = server.client.get("/jobs/large/tensor", name="forward/large:0", slice="[-2:]", statistics=1)
    assert tail["data"] == [[0] * 5, [0, 1, 2, 3, 4]]
    assert tail["statistics"]["count"] == 5 << 30 and tail["statistics"]["max"] == 4
    every = server.client.get("/jobs/large/tensor", name="forward/large:0", slice="[::1073741823, 4]")
    assert every["data"] == [0, 4]


COMPARED = """
import torch

torch.manual_seed(1)
model = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    before = model.weight.detach().clone()
    optimizer.zero_grad()
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    difference = (model.weight.detach() - before).abs().double()
    print(json.dumps([difference.max().item(), difference.mean().item()]), flush=True)
"""


def test_a_weight_is_compared_with_the_step_before(server: Server, start_job, tmp_path: Path) -> None:
    job = start_job(write(tmp_path, "import json\n" + COMPARED), server.job_environment(GRAPHDBG_JOB="compared"))
    server.wait_for_state("compared", "paused")
    server.control("compared", "step", steps=2)
    server.wait_for_state("compared", "paused", step=2)

    def ask(what: str, **query: str) -> dict[str, Any]:
        return server.client.get(f"/jobs/compared/tensor/{what}", name="forward/weight:0", **query)

    found = ask("compare", **{"with": "previous"})
    assert (found["left"]["step"], found["right"]["step"], found["count"]) == (2, 1, 6)
    assert not found["all_close"] and found["not_close_count"] == 6
    assert found["first_not_close"]["index"] == [0, 0]
    assert ask("compare", **{"with": "previous", "atol": "1"})["all_close"]
    histogram = ask("histogram", bins="5")
    assert sum(histogram["counts"]) == 6 and len(histogram["edges"]) == 6

    server.control("compared", "continue")
    job.stdout.readline()
    largest, mean = json.loads(job.stdout.readline())
    assert found["max_abs_difference"] == pytest.approx(largest, rel=1e-6)
    assert found["mean_abs_difference"] == pytest.approx(mean, rel=1e-6)
