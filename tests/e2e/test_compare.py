"""Comparisons, histograms and maps of tensors of more than 256 MiB, which the server reads piece by piece."""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import numpy as np
import pytest
from conftest import Server

# 280 MiB each. Most elements are 1.
LARGE = """
import torch
from torch import nn

class Large(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
        left = torch.ones(8960, 8192)
        left[0, 0] = -3
        self.register_buffer("left", left)
        right = left.clone()
        right[5000, 7] += 2
        right[5000, 8] = torch.nextafter(right[5000, 8], torch.tensor(2.0))
        right[8959, 8191] = float("nan")
        self.register_buffer("right", right)

    def forward(self, x):
        return x * self.weight

net = Large()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.ones(2)).sum().backward()
optimizer.step()
"""

COUNT = 8960 * 8192
MAX_GROWTH_KB = 150 * 1024


def peak_memory(process: int) -> int:
    """In KB."""
    status = Path(f"/proc/{process}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def server_process(server: Server) -> int:
    """The C++ program, which may be a child of the one that was started."""
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    return int(children[0]) if children else server.process.pid


def tensor_map(server: Server, token: str, **query: str) -> tuple[np.ndarray, dict[str, str]]:
    address = f"{server.addresses['http_address']}/api/v1/jobs/large/tensor/map?{urlencode(query)}"
    with urlopen(Request(address, headers={"Authorization": f"Bearer {token}"})) as answer:
        headers = dict(answer.headers)
        shape = tuple(int(size) for size in headers["X-Graphdbg-Shape"].split(","))
        return np.frombuffer(answer.read(), "<f4").reshape(shape), headers


@pytest.mark.long
def test_tensors_of_any_size_are_compared_in_little_memory(server: Server, start_job, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(LARGE)
    environment = server.job_environment(GRAPHDBG_JOB="large", GRAPHDBG_OVERVIEW="0")
    start_job([sys.executable, str(script)], environment)
    server.wait_for_state("large", "paused")
    process = server_process(server)
    before = peak_memory(process)

    query = {"name": "forward/left:0", "with": "tensor:forward/right:0"}
    compared = server.client.get("/jobs/large/tensor/compare", **query, bins="4")
    assert compared["count"] == COUNT
    assert compared["equal_count"] == COUNT - 3
    assert compared["not_close_count"] == 2
    assert compared["right_nan_count"] == 1
    assert [each["index"] for each in compared["not_close"]] == [[5000, 7], [8959, 8191]]
    assert compared["max_abs_at"] == {"index": [5000, 7], "left": 1.0, "right": 3.0}
    assert compared["max_ulps"] == int(np.float32(3).view("i4") - np.float32(1).view("i4"))
    assert compared["ulp_counts"][:2] == [COUNT - 3, 1]
    histograms = compared["histograms"]
    assert histograms["left"]["edges"] == histograms["right"]["edges"] == [-3, -1.5, 0, 1.5, 3]
    assert histograms["left"]["counts"] == [1, 0, COUNT - 1, 0]
    assert histograms["right"]["counts"] == [1, 0, COUNT - 3, 1]

    histogram = server.client.get("/jobs/large/tensor/histogram", name="forward/right:0", bins="2")
    assert histogram["counts"] == [1, COUNT - 2]
    assert histogram["nan_count"] == 1

    token = (server.data_dir / "token").read_text().strip()
    planes, headers = tensor_map(server, token, **query, of="difference", rows="70", columns="64")
    assert headers["X-Graphdbg-Grid"] == "8960,8192"
    assert headers["X-Graphdbg-Block"] == "128,128"
    extreme, non_finite = planes[0], planes[4]
    assert extreme[5000 // 128, 0] == -2
    assert np.isnan(extreme[-1, -1]) and non_finite.sum() == 1
    assert np.count_nonzero(extreme) == 2

    assert peak_memory(process) - before < MAX_GROWTH_KB
