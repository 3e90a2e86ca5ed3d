"""Unmodified programs that run models under ONNX Runtime."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import HOSTS, Finished, Json, Server, clean_environment

RUN_MODEL = str(HOSTS / "onnx" / "run_model.py")
MODELS = ("cnn", "cnn_int8", "transformer", "lstm", "control", "functions", "large", "overflow")


def digests(output: str) -> list[str]:
    return re.findall(r"^run \d+ \w+$", output, re.MULTILINE)


def plain_run(*arguments: str) -> list[str]:
    command = [sys.executable, RUN_MODEL, *arguments]
    found = digests(subprocess.run(command, env=clean_environment(), capture_output=True, text=True, check=True).stdout)
    assert found
    return found


@pytest.mark.long(but=["control", "overflow"])
@pytest.mark.parametrize("optimized", [True, False])
@pytest.mark.parametrize("model", MODELS)
def test_gives_the_program_the_same_bits(debug_run, onnx_models: Path, model: str, optimized: bool) -> None:
    arguments = [str(onnx_models / f"{model}.onnx"), *([] if optimized else ["--no-optimizations"])]
    run: Finished = debug_run(
        "--break-on",
        "expr:count > 0",
        "--on-hit",
        "continue",
        "--no-wait",
        command=[sys.executable, RUN_MODEL, *arguments],
    )
    assert run.code == 0, run.stderr
    assert digests(run.stdout) == plain_run(*arguments)
    assert run.result["steps"] == 3
    assert run.result["hits"]


def test_looks_into_runs_with_bound_values(debug_run, onnx_models: Path) -> None:
    arguments = [str(onnx_models / "cnn.onnx"), "--iobinding", "--runs", "2"]
    options = ("--no-wait", "--break-on", "expr:count > 0", "--on-hit", "continue")
    run: Finished = debug_run(*options, command=[sys.executable, RUN_MODEL, *arguments])
    assert digests(run.stdout) == plain_run(*arguments)
    assert ("cnn/conv2/conv2d_1", 2) in {(hit["node"], hit["step"]) for hit in run.result["hits"]}


def test_finds_where_half_floats_overflow(debug_run, onnx_models: Path) -> None:
    command = [sys.executable, RUN_MODEL, str(onnx_models / "overflow.onnx")]
    run: Finished = debug_run("--no-wait", "--break-on", "inf", "--on-hit", "terminate", command=command)
    assert run.code == 143
    first = run.result["hits"][0]
    assert (first["node"], first["op_type"], first["origin"]) == ("overflow/conv2/Conv", "Conv", "origin")


@pytest.fixture
def paused_cnn(server: Server, start_job, onnx_models: Path) -> str:
    """The path of a job that is paused before the first run of the CNN."""
    environment = server.job_environment(GRAPHDBG_JOB="cnn")
    start_job([sys.executable, RUN_MODEL, str(onnx_models / "cnn.onnx"), "--runs", "100"], environment)
    server.wait_for_state("cnn", "paused", pause_reason="start")
    return "/jobs/cnn"


def node(server: Server, name: str) -> Json:
    found: Json = server.client.get(f"/jobs/cnn/graph/node?name={name}")
    return found


def value(server: Server, tensor: str, step: str = "current") -> np.ndarray:
    found: Json = server.client.get(f"/jobs/cnn/tensor?name={tensor}&step={step}")
    return np.array(found["data"], dtype=np.float32)


def test_shows_the_graph_before_the_first_run(server: Server, paused_cnn: str) -> None:
    conv = node(server, "cnn/conv2/conv2d_1")
    assert (conv["kind"], conv["op_type"], conv["category"]) == ("op", "Conv", "activation")
    assert conv["outputs"][0]["shape"] == [4, 16, 8, 8]
    assert conv["attributes"]["pads"] == "[1, 1, 1, 1]"
    # The exporter stores the line of the model for each op.
    assert conv["source"]["file"].endswith("make_models.py")
    made_by = [tensor["node"] for tensor in conv["inputs"]]
    assert made_by == ["cnn/relu", "cnn/conv2/weight", "cnn/conv2/bias"]
    weight = node(server, "cnn/conv2/weight")
    assert (weight["kind"], weight["category"], weight["outputs"][0]["shape"]) == ("parameter", "weight", [16, 8, 3, 3])
    assert node(server, "cnn/images")["kind"] == "input"
    top = server.client.get(f"{paused_cnn}/graph/scope?name=cnn")
    assert {"cnn/conv1", "cnn/conv2", "cnn/head"} <= {child["name"] for child in top["nodes"]}


def test_is_controlled_and_looked_into_like_any_job(server: Server, paused_cnn: str, onnx_models: Path) -> None:
    server.control("cnn", "continue_to", node="cnn/relu")
    server.wait_for_state("cnn", "paused", pause_reason="node", node="cnn/relu", step=1)
    convolved, rectified = value(server, "cnn/conv1/conv2d:0"), value(server, "cnn/relu:0")
    assert convolved.min() < 0 and np.array_equal(np.maximum(convolved, 0), rectified)
    server.control("cnn", "next_node")
    server.wait_for_state("cnn", "paused", node="cnn/conv2/conv2d_1")
    server.control("cnn", "next_node", outside="cnn/conv2")
    server.wait_for_state("cnn", "paused", node="cnn/relu_1")
    server.control("cnn", "step")
    server.wait_for_state("cnn", "paused", pause_reason="step", step=1)
    server.control("cnn", "step", steps=2)
    server.wait_for_state("cnn", "paused", pause_reason="step", step=3)
    weight = value(server, "cnn/conv1/weight:0")
    assert weight.shape == (8, 1, 3, 3) and np.abs(weight).max() > 0
    watchpoint = {"condition": {"id": "expression", "params": {"expression": "max >= 0"}}, "nodes": ["cnn/max_pool2d"]}
    made = server.client.post(f"{paused_cnn}/watchpoints", watchpoint)
    server.control("cnn", "continue")
    server.wait_for_state("cnn", "paused", pause_reason="watchpoint", node="cnn/max_pool2d", step=4)
    hits = server.client.get(f"{paused_cnn}/hits?watchpoint={made['id']}")["hits"]
    assert [hit["step"] for hit in hits] == [4]
    server.control("cnn", "terminate")
    server.wait_for_state("cnn", "terminated")


def test_pauses_while_it_runs(server: Server, start_job, onnx_models: Path) -> None:
    environment = server.job_environment(GRAPHDBG_JOB="cnn", GRAPHDBG_WAIT="0")
    start_job([sys.executable, RUN_MODEL, str(onnx_models / "cnn.onnx"), "--runs", "100000"], environment)
    server.wait_for_state("cnn", "running")
    server.control("cnn", "pause")
    paused = server.wait_for_state("cnn", "paused", pause_reason="user")
    server.control("cnn", "next_node")
    stopped = server.wait_for_state("cnn", "paused", pause_reason="node")
    # The job pauses at the end of a run or at a node; in the first run at any node.
    nodes = server.client.get("/jobs/cnn/graph/export?format=json")["nodes"]
    in_order = [node["name"] for node in sorted(nodes, key=lambda node: node["order"]) if node["order"]]
    before = in_order.index(paused["node"]) if paused["node"] else -1
    assert stopped["node"] == in_order[(before + 1) % len(in_order)]
    server.control("cnn", "terminate")
    server.wait_for_state("cnn", "terminated")


def test_a_run_is_compared_with_the_one_before(server: Server, paused_cnn: str) -> None:
    changes = {"condition": {"id": "tensor_not_changed", "params": {}}, "nodes": ["cnn/max_pool2d"], "pause": "none"}
    server.client.post(f"{paused_cnn}/watchpoints", changes)
    server.control("cnn", "step")
    server.wait_for_state("cnn", "paused", pause_reason="step", step=1)
    first = value(server, "cnn/max_pool2d:0")
    server.control("cnn", "step")
    server.wait_for_state("cnn", "paused", pause_reason="step", step=2)
    second = value(server, "cnn/max_pool2d:0")
    assert np.array_equal(value(server, "cnn/max_pool2d:0", step="previous"), first)
    found = server.client.get(f"{paused_cnn}/tensor/compare?name=cnn/max_pool2d:0&with=previous&rtol=0&atol=0")
    assert found["not_close_count"] == np.count_nonzero(second != first) > 0
    # Weights stay as they are.
    weights = server.client.get(f"{paused_cnn}/tensor/compare?name=cnn/conv1/weight:0&with=previous")
    assert weights["all_close"] and weights["count"] == 72


def test_values_are_those_of_onnx_runtime(server: Server, paused_cnn: str, onnx_models: Path) -> None:
    """Against a session that gives the node's output as the model's own."""
    import onnx
    import onnxruntime

    server.control("cnn", "continue_to", node="cnn/max_pool2d")
    server.wait_for_state("cnn", "paused", node="cnn/max_pool2d")
    pooled = value(server, "cnn/max_pool2d:0")
    model = onnx.load(onnx_models / "cnn.onnx")
    model.graph.output.append(onnx.ValueInfoProto(name="max_pool2d"))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    images = np.random.default_rng(0).standard_normal((4, 8, 8)).astype(np.float32)
    assert np.array_equal(session.run(["max_pool2d"], {"images": images})[0], pooled)
    assert np.array_equal(value(server, "cnn/images:0"), images)


def test_several_sessions_stand_side_by_side(debug_run, onnx_models: Path) -> None:
    models = [str(onnx_models / f"{name}.onnx") for name in ("control", "functions", "control")]
    command = [sys.executable, RUN_MODEL, *models, "--runs", "2"]
    run: Finished = debug_run("--no-wait", "--break-on", "expr:count > 0", "--on-hit", "continue", command=command)
    assert digests(run.stdout) == plain_run(*models, "--runs", "2")
    # A run of any of them is a step.
    assert run.result["steps"] == 6
    scaled = [hit for hit in run.result["hits"] if hit["op_type"] == "Mul" and "soft" in hit["node"]]
    steps = {(hit["node"].partition("/")[0], hit["step"]) for hit in scaled}
    assert steps == {("functions", 2), ("functions", 5)}
    assert {hit["node"] for hit in run.result["hits"]} >= {"control/choose", "control_1/choose"}


REPLACED = """
import sys, numpy as np, onnxruntime as ort
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
bias = ort.OrtValue.ortvalue_from_numpy(np.full(10, 7, np.float32))
options.add_initializer("head.1.bias", bias)
session = ort.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
print(session.run(None, {"images": np.ones((4, 8, 8), np.float32)})[0].tobytes().hex())
"""


def test_weights_of_the_programs_own_stay_in_place(debug_run, onnx_models: Path) -> None:
    """A program may replace weights of the file, and they cannot be read back."""
    command = [sys.executable, "-c", REPLACED, str(onnx_models / "cnn.onnx")]
    plain = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, check=True).stdout
    run: Finished = debug_run("--no-wait", "--break-on", "expr:count > 0", "--on-hit", "continue", command=command)
    assert run.stdout == plain != ""
    assert "its options replace initializers of the model" in run.stderr
    assert run.result["steps"] == 1


STRINGS = """
import sys, numpy as np, onnxruntime as ort
session = ort.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
print(session.run(None, {"words": np.array(["one", "two"], dtype=object)}))
"""


def test_says_that_strings_are_not_looked_into(debug_run, tmp_path: Path) -> None:
    import onnx
    import onnx.parser

    text = '<ir_version: 8, opset_import: ["" : 17]> g (string[2] words) => (string[2] y) { y = Identity(words) }'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "words.onnx")
    run: Finished = debug_run("--no-wait", command=[sys.executable, "-c", STRINGS, str(tmp_path / "words.onnx")])
    assert (run.code, run.result["steps"]) == (0, 1) and "one" in run.stdout
    assert "graphdbg: runs of words are not debugged: its input words has strings" in run.stderr


def test_goes_on_where_a_value_cannot_be_handed_on(debug_run, tmp_path: Path) -> None:
    """An optional value without content that is read 70 nodes later. As an input it would crash ONNX Runtime."""
    import onnx
    from onnx import TensorProto, helper

    missing = helper.make_node(
        "Optional", [], ["missing"], name="nothing", type=helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
    )
    between = [helper.make_node("Neg", [f"v{i}"], [f"v{i + 1}"], name=f"turn_{i}") for i in range(70)]
    asked = helper.make_node("OptionalHasElement", ["missing"], ["there"], name="is_there")
    values = [("v0", TensorProto.FLOAT, [2]), ("v70", TensorProto.FLOAT, [2]), ("there", TensorProto.BOOL, [])]
    v0, *outputs = (helper.make_tensor_value_info(*value) for value in values)
    graph = helper.make_graph([missing, *between, asked], "g", [v0], outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "maybe.onnx")
    command = [str(tmp_path / "maybe.onnx"), "--random-inputs", "--runs", "2"]
    run: Finished = debug_run("--no-wait", "--break-on", "expr:count > 0", "--on-hit", "continue", command=command)
    assert (run.code, run.result["steps"]) == (0, 2)
    message = (
        "node is_there cannot be run on its own; it and later nodes are not debugged: an optional value is missing"
    )
    assert run.stderr.count(message) == 1
    assert ("maybe/turn_69", 2) in {(hit["node"], hit["step"]) for hit in run.result["hits"]}


def test_sessions_may_run_in_several_threads(debug_run, onnx_models: Path) -> None:
    """Runs are made one after the other, and each is a step with its own nodes."""
    script = str(HOSTS / "onnx" / "two_threads.py")
    command = [sys.executable, script, *(str(onnx_models / f"{name}.onnx") for name in ("lstm", "loops"))]
    plain = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, check=True).stdout
    run: Finished = debug_run("--no-wait", "--break-on", "expr:count > 0", "--on-hit", "continue", command=command)
    assert run.stdout == plain != ""
    assert run.result["steps"] == 40
    # One node of each model. The model that is made from bytes has no name.
    ran = {"LSTM": "model/rows/LSTM", "Abs": "loops/Abs"}
    found = {(hit["step"], hit["node"]) for hit in run.result["hits"] if hit["op_type"] in ran}
    assert sorted(step for step, _ in found) == list(range(1, 41))
    assert {node for _, node in found} == set(ran.values())


def test_each_session_is_a_graph_of_the_job(server: Server, start_job, onnx_models: Path) -> None:
    models = [str(onnx_models / f"{name}.onnx") for name in ("control", "functions", "control")]
    start_job([sys.executable, RUN_MODEL, *models], server.job_environment(GRAPHDBG_JOB="several"))
    server.wait_for_state("several", "paused", pause_reason="start")
    graphs = server.client.get("/jobs/several/graphs")["graphs"]
    assert [graph["id"] for graph in graphs] == ["control", "functions", "control_1"]
    assert graphs[0]["node_count"] == graphs[2]["node_count"] > graphs[1]["node_count"] > 0

    def top(query: str) -> list[str]:
        return [node["name"] for node in server.client.get(f"/jobs/several/graph/scope?name={query}")["nodes"]]

    # The first graph is the default.
    assert (top(""), top("&graph=functions"), top("&graph=control_1")) == (["control"], ["functions"], ["control_1"])
    exported = server.client.get("/jobs/several/graph/export?format=json&graph=functions")
    assert {node["name"].partition("/")[0] for node in exported["nodes"]} == {"functions"}
    # Names are unique within the job: a node is found by its name in whichever graph it is.
    choices = server.client.get("/jobs/several/graph/search?q=choose&kind=op")["nodes"]
    found = [node["name"] for node in choices if node["op_type"] == "If"]
    assert found == ["control/choose", "control_1/choose"]
    assert [server.client.get(f"/jobs/several/graph/node?name={n}")["graph"] for n in found] == ["control", "control_1"]


def test_one_framework_of_two_is_debugged_and_said_to_be(debug_run, onnx_models: Path) -> None:
    code = f"import torch, sys, runpy; sys.argv = ['x', {str(onnx_models / 'functions.onnx')!r}]; "
    command = [sys.executable, "-c", code + f"runpy.run_path({RUN_MODEL!r}, run_name='__main__')"]
    run: Finished = debug_run("--no-wait", command=command)
    # PyTorch was loaded first, and trained nothing.
    assert run.code == 4 and "GRAPHDBG_FRAMEWORK=onnxruntime" in run.stderr
    run = debug_run("--no-wait", command=command, GRAPHDBG_FRAMEWORK="onnxruntime")
    assert run.result["steps"] == 3


def test_ends_when_the_user_says_so(server: Server, paused_cnn: str) -> None:
    server.control("cnn", "continue_to", node="cnn/relu_1")
    server.wait_for_state("cnn", "paused", node="cnn/relu_1")
    server.control("cnn", "terminate")
    server.wait_for_state("cnn", "terminated")
