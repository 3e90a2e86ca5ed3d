"""The graph of a real job: its index file, the neighbours of a tensor, and exports."""

from __future__ import annotations

import gzip
import json
import struct
import sys
import urllib.error
import urllib.request
from array import array
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from conftest import HOSTS, Server

MODEL = """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(5):
    optimizer.zero_grad()
    net(torch.randn(5, 3)).pow(2).mean().backward()
    optimizer.step()
"""

JOB = "graph"


@pytest.fixture
def stopped(server: Server, start_job: Any, tmp_path: Path) -> Server:
    """A server with a job that is paused after two steps."""
    script = tmp_path / "train.py"
    script.write_text(MODEL)
    start_job([sys.executable, str(script)], server.job_environment(GRAPHDBG_JOB=JOB))
    server.wait_for_state(JOB, "paused")
    server.control(JOB, "step", steps=2)
    server.wait_for_state(JOB, "paused", step=2)
    return server


def fetch(server: Server, path: str, **headers: str) -> Any:
    token = (server.data_dir / "token").read_text().strip()
    request = urllib.request.Request(f"{server.addresses['http_address']}/api/v1/jobs/{JOB}{path}")
    request.add_header("Authorization", f"Bearer {token}")
    for name, value in headers.items():
        request.add_header(name.replace("_", "-"), value)
    return urllib.request.urlopen(request, timeout=30)


TYPES = {"u8": "B", "u32": "I", "u64": "Q", "f64": "d"}


class Columns:
    """A file of packed columns."""

    def __init__(self, body: bytes) -> None:
        assert body[:8] == b"GDBGIDX\x02"
        (size,) = struct.unpack_from("<Q", body, 8)
        self.header = json.loads(body[16 : 16 + size])
        self._columns = body[16 + size :]

    def column(self, name: str) -> array[Any]:
        about = self.header["columns"][name]
        values: array[Any] = array(TYPES[about["type"]])
        begin = about["offset"]
        values.frombytes(self._columns[begin : begin + about["count"] * values.itemsize])
        if about.get("differences"):
            values = array("I", accumulate(values, lambda a, b: (a + b) % 2**32))
        return values


class Index(Columns):
    """Reads the index as proto/docs/graph-index.md describes it."""

    def __init__(self, body: bytes) -> None:
        super().__init__(body)
        ends, texts = self.column("string_end"), bytes(self.column("string_bytes"))
        self.texts = [texts[a:b].decode() for a, b in zip([0, *ends], ends, strict=False)]

    def names(self) -> list[str]:
        scopes = [""]
        labels = self.column("scope_label")
        for number, parent in enumerate(self.column("scope_parent")):
            if number:
                scopes.append(f"{scopes[parent]}/{self.texts[labels[number]]}".lstrip("/"))
        pairs = zip(self.column("node_scope"), self.column("node_label"), strict=True)
        return [f"{scopes[scope]}/{self.texts[label]}".lstrip("/") for scope, label in pairs]

    def edges(self) -> set[tuple[str, int, str]]:
        names, slots, backs = self.names(), self.column("edge_slot"), self.column("edge_back")
        edges, at = set(), 0
        for to, end in enumerate(self.column("edge_end")):
            edges |= {(names[(to - backs[i]) % 2**32], slots[i], names[to]) for i in range(at, end)}
            at = end
        return edges


def all_nodes(server: Server) -> list[dict[str, Any]]:
    page = server.client.get(f"/jobs/{JOB}/graph/search", limit=1000)
    assert page["next_cursor"] is None
    nodes: list[dict[str, Any]] = page["nodes"]
    return nodes


def test_the_index_holds_what_the_other_routes_tell(stopped: Server) -> None:
    with fetch(stopped, "/graph/index", Accept_Encoding="gzip") as response:
        assert response.headers["Content-Encoding"] == "gzip"
        etag = response.headers["ETag"]
        index = Index(gzip.decompress(response.read()))
    nodes = all_nodes(stopped)
    assert index.names() == [node["name"] for node in nodes]
    kinds = index.header["kinds"]
    assert [kinds[k] for k in index.column("node_kind")] == [node["kind"] for node in nodes]
    categories = index.header["categories"]
    assert [categories[c] for c in index.column("node_category")] == [node["category"] for node in nodes]
    assert [index.texts[t] for t in index.column("node_op_type")] == [node["op_type"] for node in nodes]
    by_order = sorted((node["order"], number) for number, node in enumerate(nodes) if node["order"])
    assert list(index.column("execution")) == [number for _, number in by_order]
    edges = index.edges()
    for node in nodes:
        detail = stopped.client.get(f"/jobs/{JOB}/graph/node", name=node["name"])
        for end in detail["inputs"]:
            assert (end["node"], end["slot"], node["name"]) in edges
    assert len(edges) > 20
    # A page that has the index does not get it again.
    with pytest.raises(urllib.error.HTTPError) as unchanged:
        fetch(stopped, "/graph/index", Accept_Encoding="gzip", If_None_Match=etag)
    assert unchanged.value.code == 304
    with fetch(stopped, "/graph/index") as response:
        assert Index(response.read()).names() == index.names()


def test_around_a_tensor_are_its_producers_and_consumers(stopped: Server) -> None:
    name = "forward/1/relu"
    stopped.client.get(f"/jobs/{JOB}/tensor/statistics", name=f"{name}:0")
    around = stopped.client.get(f"/jobs/{JOB}/graph/neighbours", name=name)
    detail = stopped.client.get(f"/jobs/{JOB}/graph/node", name=name)
    at = {node["name"]: node["distance"] for node in around["nodes"]}
    assert {n for n, d in at.items() if d == -1} == {end["node"] for end in detail["inputs"]}
    assert {n for n, d in at.items() if d == 1} == {end["node"] for end in detail["consumers"]}
    assert at[name] == 0 and len(at) > 3
    (tensor,) = [t for t in around["tensors"] if t["name"] == f"{name}:0"]
    assert tensor["statistics"]["count"] == 20 and tensor["statistics_step"] == 2
    wider = stopped.client.get(f"/jobs/{JOB}/graph/neighbours", name=name, depth=3)
    assert set(at) < {node["name"] for node in wider["nodes"]}


def test_the_statistics_of_all_tensors_of_a_step(stopped: Server) -> None:
    with fetch(stopped, "/graph/index") as response:
        names = Index(response.read()).names()
    with fetch(stopped, "/statistics?rank=0") as response:
        assert response.headers["Content-Type"] == "application/octet-stream"
        statistics = Columns(response.read())
    assert (statistics.header["step"], statistics.header["complete"]) == (2, True)
    rows = [names[number] for number in statistics.column("node")]
    assert {"forward/0/weight", "forward/1/relu", "forward/2/addmm"} <= set(rows)
    assert any(name.startswith("backward/") for name in rows)
    for column in ("abs_mean", "l2"):
        row = rows.index("forward/1/relu")
        one = stopped.client.get(f"/jobs/{JOB}/tensor/statistics", name="forward/1/relu:0")
        assert statistics.column(column)[row] == one["statistics"][column]
    # A second request has the same answer, from what is known by then.
    with fetch(stopped, "/statistics") as response:
        assert Columns(response.read()).header["records"] == len(rows)


def statistics_of(server: Server, name: str) -> dict[str, Any]:
    """Without quantiles, which histories do not have."""
    statistics: dict[str, Any] = server.client.get(f"/jobs/{JOB}/tensor/statistics", name=name)["statistics"]
    assert statistics.pop("quantiles")["p50"] <= statistics["max"]
    return statistics


def test_the_history_of_a_weight_grows_with_each_look(stopped: Server) -> None:
    weight = "forward/0/weight:0"
    asked = {}
    for step in (3, 4):
        stopped.control(JOB, "step", steps=1)
        stopped.wait_for_state(JOB, "paused", step=step)
        asked[step] = statistics_of(stopped, weight)
    history = stopped.client.get(f"/jobs/{JOB}/tensor/history", name=weight)
    assert {p["step"]: p["statistics"] for p in history["points"]} == asked
    assert history["shape"] == [4, 3] and asked[3] != asked[4]


def test_the_history_of_what_is_watched_has_steps_that_nobody_looked_at(stopped: Server) -> None:
    watched, other = "forward/1/relu:0", "forward/0/addmm:0"
    spec = {"condition": {"id": "nan", "params": {}}, "nodes": ["forward/1/relu"]}
    stopped.client.post(f"/jobs/{JOB}/watchpoints", spec)
    stopped.control(JOB, "step", steps=2)
    stopped.wait_for_state(JOB, "paused", step=4)
    points = stopped.client.get(f"/jobs/{JOB}/tensor/history", name=watched)["points"]
    assert [point["step"] for point in points] == [3, 4]
    assert all(point["statistics"]["count"] == 20 for point in points)
    asked = statistics_of(stopped, watched)
    assert points[-1]["statistics"] == asked
    assert stopped.client.get(f"/jobs/{JOB}/tensor/history", name=other)["points"] == []


def test_the_graph_is_exported_with_all_nodes_and_edges(stopped: Server) -> None:
    with fetch(stopped, "/graph/export?format=json") as response:
        exported = json.load(response)
    nodes = {node["name"]: node for node in all_nodes(stopped)}
    assert {node["name"] for node in exported["nodes"]} == set(nodes)
    for node in exported["nodes"]:
        assert all(node[key] == nodes[node["name"]][key] for key in ("kind", "op_type", "outputs", "order"))
    (addmm,) = [node for node in exported["nodes"] if node["name"] == "forward/0/addmm"]
    detail = stopped.client.get(f"/jobs/{JOB}/graph/node", name="forward/0/addmm")
    assert addmm["attributes"] == detail["attributes"]
    edges = {(e["from"], e["slot"]) for e in exported["edges"] if e["to"] == "forward/0/addmm"}
    assert edges == {(end["node"], end["slot"]) for end in detail["inputs"]}
    assert len(exported["edges"]) > 20
    with fetch(stopped, "/graph/export?format=onnx") as response:
        model = response.read()
    # Protobuf stores names unencoded.
    assert all(name.encode() in model for name in nodes)


def test_the_recommended_watchpoints_are_made_once(stopped: Server) -> None:
    assert stopped.job(JOB)["recommended_offered"]
    made = stopped.client.post(f"/jobs/{JOB}/watchpoints/recommended", {})
    assert len(made["made"]) == len(made["watchpoints"]) > 5
    assert not stopped.job(JOB)["recommended_offered"]
    again = stopped.client.post(f"/jobs/{JOB}/watchpoints/recommended", {})
    assert again["made"] == [] and again["watchpoints"] == made["watchpoints"]
    stopped.control(JOB, "continue")
    assert stopped.wait_for_state(JOB, "finished")["hit_count"] == 0
    assert all(w["error"] is None for w in again["watchpoints"])


HEALTHY = HOSTS / "masked_transformer.py"
BROKEN = HOSTS / "planted" / "norm_of_zero.py"


@pytest.mark.parametrize(("script", "stops"), [(HEALTHY, False), (BROKEN, True)])
def test_the_recommended_watchpoints_stop_what_is_broken_alone(
    server: Server, start_job: Any, script: Path, stops: bool
) -> None:
    start_job([sys.executable, str(script)], server.job_environment(GRAPHDBG_JOB=JOB))
    server.wait_for_state(JOB, "paused")
    server.client.post(f"/jobs/{JOB}/watchpoints/recommended", {})
    server.control(JOB, "continue")
    if stops:
        paused = server.wait_for_state(JOB, "paused", pause_reason="watchpoint")
        (overflow,) = [
            w["id"]
            for w in server.client.get(f"/jobs/{JOB}/watchpoints")["watchpoints"]
            if w["condition"]["id"] == "tensor_overflow"
        ]
        assert paused["stopped_by"] == [overflow]
    else:
        assert server.wait_for_state(JOB, "finished")["hit_count"] == 0
