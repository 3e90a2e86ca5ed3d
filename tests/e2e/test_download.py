"""Downloads of whole tensors of a paused job."""

from __future__ import annotations

import io
import json
import struct
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import Server

# Has buffers of all types and shapes, and saves them for the test to compare with.
PROGRAM = """
import sys
import torch
from torch import nn

torch.manual_seed(0)
base = torch.tensor([0, 1, 2, 100])
values = {name: base.to(getattr(torch, name)) for name in
          "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64".split()}
values["complex64"] = torch.complex(base.float(), -base.float())
values["complex128"] = values["complex64"].to(torch.complex128)
values["float8_e4m3fn"] = torch.tensor([0.0, 1.0, -2.5, 448.0]).to(torch.float8_e4m3fn)
values["float8_e5m2"] = torch.tensor([0.0, 1.0, -2.5, 57344.0]).to(torch.float8_e5m2)
values["scalar"] = torch.tensor(7.5)
values["empty"] = torch.zeros(3, 0, 2)
values["transposed"] = torch.arange(12.0).reshape(3, 4).t()
# Each is sent in several chunks, some of which end inside a row.
values["long"] = torch.randn(3_000_001)
values["wide"] = torch.randn(3, 2, 1_200_000)
values["tall"] = torch.randn(2_500, 1_100).t()

net = nn.Linear(2, 2)
for name, value in values.items():
    net.register_buffer("b_" + name, value)
torch.save(values, sys.argv[1])
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
"""

NO_NPY = {"bfloat16", "float8_e4m3fn", "float8_e5m2"}


@pytest.fixture
def values(server: Server, start_job: Any, tmp_path: Path) -> dict[str, torch.Tensor]:
    script = tmp_path / "train.py"
    script.write_text(PROGRAM)
    start_job([sys.executable, str(script), str(tmp_path / "values")], server.job_environment(GRAPHDBG_JOB="files"))
    server.wait_for_state("files", "paused")
    loaded: dict[str, torch.Tensor] = torch.load(tmp_path / "values")
    return loaded


def download(server: Server, name: str, **query: str) -> Any:
    token = (server.data_dir / "token").read_text().strip()
    text = urllib.parse.urlencode({"name": f"forward/{name}:0", **query})
    url = f"{server.addresses['http_address']}/api/v1/jobs/files/tensor/download?{text}"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    return urllib.request.urlopen(request, timeout=60)


def from_safetensors(file: bytes) -> tuple[torch.Tensor, dict[str, Any]]:
    """Reads the file according to the format's description, without the safetensors library."""
    (size,) = struct.unpack_from("<Q", file)
    header = json.loads(file[8 : 8 + size])
    metadata = header.pop("__metadata__")
    ((name, about),) = header.items()
    assert name == f"{metadata['node']}:{metadata['slot']}"
    types = {
        "BOOL": torch.bool,
        "U8": torch.uint8,
        "U16": torch.uint16,
        "U32": torch.uint32,
        "U64": torch.uint64,
        "I8": torch.int8,
        "I16": torch.int16,
        "I32": torch.int32,
        "I64": torch.int64,
        "F16": torch.float16,
        "BF16": torch.bfloat16,
        "F32": torch.float32,
        "F64": torch.float64,
        "C64": torch.complex64,
        "F8_E4M3": torch.float8_e4m3fn,
        "F8_E5M2": torch.float8_e5m2,
    }
    dtype = types[about["dtype"]]
    begin, end = about["data_offsets"]
    data = bytearray(file[8 + size :])
    assert (begin, end) == (0, len(data))
    flat = torch.frombuffer(data, dtype=dtype) if data else torch.zeros(0, dtype=dtype)
    return flat.reshape(about["shape"]), metadata


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    def as_bytes(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.contiguous().reshape(-1).view(torch.uint8)

    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(as_bytes(a), as_bytes(b))


def test_every_tensor_is_a_file(server: Server, values: dict[str, torch.Tensor]) -> None:
    for name, value in values.items():
        if name not in NO_NPY:
            with download(server, f"b_{name}") as response:
                file = response.read()
            assert len(file) == int(response.headers["Content-Length"]), name
            loaded = np.load(io.BytesIO(file), allow_pickle=False)
            assert same(torch.from_numpy(loaded), value), name
        if name != "complex128":
            with download(server, f"b_{name}", format="safetensors") as response:
                tensor, metadata = from_safetensors(response.read())
            assert same(tensor, value), name
            assert metadata["step"] == "0"
    disposition = response.headers["Content-Disposition"]
    assert disposition == 'attachment; filename="forward_b_tall.0.step0.safetensors"'


def test_what_a_format_lacks_is_said(server: Server, values: dict[str, torch.Tensor]) -> None:
    for name, query, wanted in [
        *((name, {}, "safetensors") for name in sorted(NO_NPY)),
        ("complex128", {"format": "safetensors"}, "npy"),
    ]:
        with pytest.raises(urllib.error.HTTPError) as refused:
            download(server, f"b_{name}", **query)
        problem = json.load(refused.value)
        assert (refused.value.code, problem["code"], problem["field"]) == (400, "no_such_dtype", "format")
        assert wanted in problem["detail"]
    with pytest.raises(urllib.error.HTTPError) as refused:
        download(server, "nothing")
    assert json.load(refused.value)["code"] == "unknown_node"


def test_a_step_before_is_a_file_too(server: Server, values: dict[str, torch.Tensor]) -> None:
    with download(server, "weight") as response:
        before = np.load(io.BytesIO(response.read()))
    server.control("files", "step", steps=1)
    server.wait_for_state("files", "paused", step=1)
    with download(server, "weight", step="previous") as response:
        assert (np.load(io.BytesIO(response.read())) == before).all()
    with download(server, "weight") as response:
        assert (np.load(io.BytesIO(response.read())) != before).any()


def test_a_download_ends_early_when_the_job_goes_on(server: Server, values: dict[str, torch.Tensor]) -> None:
    """The response is incomplete, so that a mixture of two steps cannot be mistaken for the tensor."""
    with download(server, "b_wide") as response:
        received = len(response.read(1 << 20))
        server.control("files", "step", steps=1)
        server.wait_for_state("files", "paused", step=1)
        try:
            while more := response.read1(1 << 20):
                received += len(more)
        except ConnectionError:
            pass
        assert 1 << 20 < received < int(response.headers["Content-Length"])
