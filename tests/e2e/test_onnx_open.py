"""Model files that are sent to the server are shown and not run, whatever they contain."""

from __future__ import annotations

import http.client
import json
import random
import re
from pathlib import Path
from urllib.parse import quote, urlsplit

import onnx
import pytest
from conftest import Json, Server, wait_until
from test_onnx_bad_input import (
    Spoil,
    cyclic,
    empty,
    good,
    nested,
    of_an_impossible_shape,
    of_the_future,
    reading_above,
    reading_anywhere,
    truncated,
)


def send(server: Server, name: str, content: bytes, **headers: str) -> tuple[int, Json]:
    """Sends a file with that name. Returns the status and the body of the response."""
    token = (server.data_dir / "token").read_text().strip()
    connection = http.client.HTTPConnection(urlsplit(server.addresses["http_address"]).netloc, timeout=120)
    address = f"/api/v1/graphs?name={quote(name)}"
    usual = {"Authorization": f"Bearer {token}", "Content-Type": "application/octet-stream"}
    connection.request("POST", address, content, usual | headers)
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def opened(server: Server, name: str, content: bytes) -> str:
    status, body = send(server, name, content)
    assert status == 201, body
    job: str = body["job"]
    return job


def nodes_of(server: Server, job: str) -> dict[str, Json]:
    graph = server.client.get(f"/jobs/{quote(job)}/graph/export?format=json")
    return {node["name"]: node for node in graph["nodes"]}


def test_shows_a_model_that_was_sent(server: Server, onnx_models: Path) -> None:
    job = opened(server, "cnn.onnx", (onnx_models / "cnn.onnx").read_bytes())
    state = server.wait_for_state(job, "finished", step=0)
    assert (job, state["name"], state["framework"]) == ("cnn.onnx", "cnn.onnx", "onnx")
    assert [graph["id"] for graph in server.client.get(f"/jobs/{job}/graphs")["graphs"]] == ["cnn"]
    conv = server.client.get(f"/jobs/{job}/graph/node?name=cnn/conv2/conv2d_1")
    assert (conv["op_type"], conv["outputs"][0]["shape"]) == ("Conv", [4, 16, 8, 8])
    assert conv["source"]["file"].endswith("make_models.py")
    assert [tensor["node"] for tensor in conv["inputs"]] == ["cnn/relu", "cnn/conv2/weight", "cnn/conv2/bias"]
    # The same file sent again becomes another job.
    assert opened(server, "cnn.onnx", (onnx_models / "cnn.onnx").read_bytes()) == "cnn.onnx-2"


def test_nodes_stand_in_the_order_of_the_file(server: Server, onnx_models: Path) -> None:
    content = (onnx_models / "transformer.onnx").read_bytes()
    job = opened(server, "transformer.onnx", content)
    ops = [node for node in nodes_of(server, job).values() if node["kind"] == "op"]
    in_order = [node["op_type"] for node in sorted(ops, key=lambda node: node["order"])]
    nodes = onnx.load_from_string(content).graph.node
    assert in_order == [node.op_type for node in nodes if node.op_type != "Constant"]
    top = server.client.get(f"/jobs/{job}/graph/scope?name=transformer")["nodes"]
    names = [child["name"].rpartition("/")[2] for child in top if child["kind"] == "scope" or child["order"] > 0]
    assert names == ["images", "embed", "layer", "ReduceMean", "head", "LogSoftmax"]


def test_weights_beside_a_model_are_not_wanted(server: Server, onnx_models: Path) -> None:
    job = opened(server, "large.onnx", (onnx_models / "large.onnx").read_bytes())
    weight = nodes_of(server, job)["large/conv1/weight"]
    assert (weight["kind"], weight["outputs"][0]["shape"]) == ("parameter", [8, 1, 3, 3])


@pytest.mark.parametrize("spoil", [reading_above, reading_anywhere, of_the_future])
def test_nothing_but_the_file_is_read(server: Server, tmp_path: Path, spoil: Spoil) -> None:
    (tmp_path / "models").mkdir()
    file = tmp_path / "models" / "odd.onnx"
    spoil(file)
    nodes = nodes_of(server, opened(server, "odd.onnx", file.read_bytes()))
    assert {"odd/x"} < set(nodes)


def test_names_may_be_anything(server: Server, tmp_path: Path) -> None:
    good(tmp_path / "good.onnx")
    content = (tmp_path / "good.onnx").read_bytes()
    for name in ("../../etc/passwd", "--graph", "卷积.onnx", "a\nb", ".onnx", "x" * 5000):
        job = opened(server, name, content)
        assert "/" not in job
        assert {node["op_type"] for node in nodes_of(server, job).values()} == {"", "Relu"}
    assert send(server, "", content)[1]["field"] == "name"


@pytest.mark.parametrize(
    ("spoil", "pattern"),
    [
        (truncated, "ONNX model"),
        (empty, "ONNX model"),
        (nested, "ONNX model"),
        (cyclic, r"node .*\bfirst\b"),
        (of_an_impossible_shape, r"initializer .*\bw\b.* shape"),
    ],
)
def test_refuses_bad_models_in_one_line(server: Server, tmp_path: Path, spoil: Spoil, pattern: str) -> None:
    spoil(tmp_path / "bad.onnx")
    status, problem = send(server, "bad.onnx", (tmp_path / "bad.onnx").read_bytes())
    assert (status, problem["code"]) == (422, "invalid_model")
    assert re.search(pattern, problem["detail"]) and "\n" not in problem["detail"]
    assert server.client.get("/jobs")["jobs"] == []


def test_lives_on_whatever_is_sent(server: Server, onnx_models: Path) -> None:
    """Files that are truncated at random positions, and files with random changes."""
    generator = random.Random(7)
    for model in ("control", "functions"):
        whole = (onnx_models / f"{model}.onnx").read_bytes()
        cut = [whole[: generator.randrange(len(whole))] for _ in range(15)]
        changed = []
        for _ in range(25):
            content = bytearray(whole)
            for _ in range(generator.randrange(1, 6)):
                content[generator.randrange(len(content))] = generator.randrange(256)
            changed.append(bytes(content))
        for content in (*cut, *changed):
            status, answer = send(server, "fuzzed.onnx", content)
            assert status == 201 or (status, answer["code"]) == (422, "invalid_model"), answer
            if status == 201:
                onnx.checker.check_model(
                    onnx.load_from_string(
                        server.client.download(f"/jobs/{quote(answer['job'])}/graph/export", format="onnx")
                    )
                )
    assert server.process.poll() is None


def test_few_are_read_at_a_time(server: Server, tmp_path: Path) -> None:
    good(tmp_path / "good.onnx")
    content = (tmp_path / "good.onnx").read_bytes()
    # Two requests whose last byte is delayed.
    slow = []
    for _ in range(2):
        connection = http.client.HTTPConnection(urlsplit(server.addresses["http_address"]).netloc)
        connection.putrequest("POST", "/api/v1/graphs?name=slow.onnx")
        connection.putheader("Authorization", f"Bearer {(server.data_dir / 'token').read_text().strip()}")
        connection.putheader("Content-Type", "application/octet-stream")
        connection.putheader("Content-Length", str(len(content)))
        connection.endheaders(content[:-1])
        slow.append(connection)
    refused = wait_until(
        "a third is refused", lambda: [a for s, a in [send(server, "third.onnx", content)] if s == 429]
    )
    assert refused[0]["code"] == "too_many_imports"
    for connection in slow:
        connection.send(content[-1:])
        assert connection.getresponse().status == 201
    assert opened(server, "fourth.onnx", content) == "fourth.onnx"


def test_strangers_and_giants_are_turned_away(server: Server) -> None:
    assert send(server, "a.onnx", b"", Authorization="Bearer stranger")[0] == 401
    # The server does not wait for the body.
    status, problem = send(server, "a.onnx", b"", **{"Content-Length": str(2**30 + 1)})
    assert (status, problem["code"]) == (413, "body_too_large")
