"""ONNX files: models run as jobs, compared, exported and shown."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from conftest import GRAPHDBG, HOSTS, Finished, Server, clean_environment
from graphdbg.cli.client import ApiError
from onnx import TensorProto, numpy_helper


def table(output: str) -> dict[str, list[str]]:
    """The rows of a comparison, by tensor."""
    lines = output[output.index("tensor ") :].splitlines()[1:]
    return {
        words[0]: words[1:]
        for words in map(str.split, lines)
        if len(words) >= 4 and words[0] not in ("all", "first") and not words[0].isdigit()
    }


def test_runs_a_model_without_a_script(debug_run, onnx_models: Path, tmp_path: Path) -> None:
    images = np.random.default_rng(1).standard_normal((4, 8, 8)).astype(np.float32)
    np.save(tmp_path / "images.npy", images)
    command = [str(onnx_models / "cnn.onnx"), "--input", f"images={tmp_path / 'images.npy'}"]
    run: Finished = debug_run("--no-wait", "--break-on", "expr:max > 0", "--on-hit", "continue", command=command)
    assert run.code == 0, run.stderr
    assert run.stdout == "scores float32 [4, 10]\n"
    hits = {hit["node"]: hit for hit in run.result["hits"]}
    assert hits["cnn/images"]["statistics"]["max"] == pytest.approx(images.max())
    assert run.result["steps"] == 1


def test_finds_the_first_tensor_that_quantization_changed(debug_run, onnx_models: Path) -> None:
    other = str(onnx_models / "cnn_int8.onnx")
    command = [str(onnx_models / "cnn.onnx"), "--random-inputs", "--seed", "3", "--compare-to", other]
    run: Finished = debug_run("--no-wait", command=command)
    assert run.code == 1
    assert "first to differ: conv2d, by " in run.stdout
    rows = table(run.stdout)
    assert rows["unsqueeze"][:2] == ["0", "0"]
    # The quantized convolution is close to the original, but not equal.
    assert 0 < float(rows["conv2d"][0]) < 0.1 and 0.99 < float(rows["conv2d"][2]) < 1
    assert list(rows) == ["unsqueeze", "conv2d", "relu", "conv2d_1", "relu_1", "max_pool2d", "view", "linear", "scores"]


def test_compares_with_recorded_values(debug_run, onnx_models: Path, tmp_path: Path) -> None:
    import onnxruntime

    session = onnxruntime.InferenceSession(onnx_models / "cnn.onnx", providers=["CPUExecutionProvider"])
    images = np.random.default_rng(0).standard_normal((4, 8, 8)).astype(np.float32)
    scores = session.run(None, {"images": images})[0]
    np.save(tmp_path / "images.npy", images)
    model = [str(onnx_models / "cnn.onnx"), "--input", f"images={tmp_path / 'images.npy'}", "--compare-to"]
    np.savez(tmp_path / "same.npz", scores=scores)
    assert "all 1 tensors agree" in debug_run("--no-wait", command=[*model, str(tmp_path / "same.npz")]).stdout
    scores[0, 0] = np.nan
    np.savez(tmp_path / "other.npz", scores=scores)
    run = debug_run("--no-wait", command=[*model, str(tmp_path / "other.npz")])
    assert run.code == 1 and "1 finite in only one" in run.stdout
    # Relative to an infinity, every error would be small.
    scores[0, 0] = np.inf
    np.savez(tmp_path / "infinite.npz", scores=scores)
    run = debug_run("--no-wait", command=[*model, str(tmp_path / "infinite.npz")])
    assert run.code == 1 and table(run.stdout)["scores"][:2] == ["inf", "inf"]


def test_compares_each_iteration_of_a_loop(debug_run, onnx_models: Path, tmp_path: Path) -> None:
    growth = onnx_models / "growth.onnx"
    model = onnx.load(growth)

    def compare_with(initializer: str, value: np.generic) -> Finished:
        (found,) = (i for i in model.graph.initializer if i.name == initializer)
        before = onnx.TensorProto.FromString(found.SerializeToString())
        found.CopyFrom(numpy_helper.from_array(np.asarray(value), initializer))
        onnx.save(model, tmp_path / "other.onnx")
        found.CopyFrom(before)
        command = [str(growth), "--random-inputs", "--compare-to", str(tmp_path / "other.onnx")]
        return debug_run("--no-wait", command=command)

    # Repeated squares of 10 and 10.001: each squaring doubles the relative error of 1e-4.
    run = compare_with("ten", np.float32(10.001))
    assert run.code == 1, run.stderr
    assert "first to differ: y.body/w, by " in run.stdout
    rows = table(run.stdout)
    assert list(rows) == ["zeros", "start", "y.body/w", "y"]
    assert " ".join(rows["y.body/w"][3:]) == "value 4 of 8 is the first to differ"

    run = compare_with("eight", np.int64(5))
    assert "first to differ: y.body/w, 8 values against 5" in run.stdout
    assert table(run.stdout)["y"][:2] == ["inf", "inf"]


def test_compares_the_branch_that_was_taken(debug_run, onnx_models: Path) -> None:
    branches = str(onnx_models / "branches.onnx")
    run = debug_run("--no-wait", command=[branches, "--random-inputs", "--compare-to", branches])
    assert run.code == 0, run.stderr
    names = list(table(run.stdout))
    assert any("_branch/" in name for name in names), names


# ---- graphs out


def test_writes_a_graph_that_onnx_reads(server: Server, start_job, tmp_path: Path) -> None:
    environment = server.job_environment(GRAPHDBG_JOB="digits")
    start_job([sys.executable, str(HOSTS / "digits_cnn.py"), "--steps", "100"], environment)
    server.wait_for_state("digits", "paused", pause_reason="start")
    server.control("digits", "step")
    server.wait_for_state("digits", "paused", pause_reason="step", step=1)
    file = tmp_path / "digits.onnx"
    address = ["--server", server.addresses["http_address"], "--data-dir", str(server.data_dir)]
    subprocess.run([GRAPHDBG, "export", "digits", "-o", str(file), *address], check=True, env=clean_environment())
    model = onnx.load(file)
    onnx.checker.check_model(model)
    ops = {node.name: node for node in model.graph.node}
    convolution = ops["forward/conv1/convolution"]
    assert (convolution.domain, convolution.op_type) == ("aten", "convolution")
    assert "forward/conv1/weight:0" in convolution.input
    known = {v.name: v for v in (*model.graph.value_info, *model.graph.output)}
    shape = known["forward/conv1/convolution:0"].type.tensor_type
    assert (shape.elem_type, [d.dim_value for d in shape.shape.dim]) == (TensorProto.FLOAT, [64, 16, 8, 8])
    assert "values" in {p.key: p.value for p in model.metadata_props}["graphdbg.lost"]


# ---- graphs in


def test_shows_a_model_that_is_not_run(server: Server, start_job, onnx_models: Path) -> None:
    """Runs the program that `graphdbg open` runs, with a server of its own."""
    environment = server.job_environment(GRAPHDBG_JOB="shown")
    job = start_job(
        [sys.executable, "-m", "graphdbg._onnxruntime.show_model", str(onnx_models / "large.onnx")], environment
    )
    server.wait_for_state("shown", "paused", pause_reason="start")
    # By this the page knows that there is nothing to run.
    assert server.client.get("/jobs/shown")["framework"] == "onnx"
    graph = server.client.get("/jobs/shown/graph/export?format=json")
    kinds = {node["name"]: node["kind"] for node in graph["nodes"]}
    assert kinds["large/conv1/conv2d"] == "op" and kinds["large/conv1/weight"] == "parameter"
    # Its weights are stored in a separate file.
    shown = server.client.get("/jobs/shown/tensor?name=large/conv1/weight:0")
    weights = {w.name: w for w in onnx.load(onnx_models / "large.onnx").graph.initializer}
    assert np.array_equal(np.array(shown["data"], np.float32), numpy_helper.to_array(weights["conv1.weight"]))
    # There is nothing to continue, and the process stays.
    with pytest.raises(ApiError) as refused:
        server.client.post("/jobs/shown/control", {"command": "continue"})
    assert (refused.value.status, refused.value.code) == (409, "invalid_state")
    assert "not run" in str(refused.value)
    assert server.job("shown")["state"] == "paused" and job.poll() is None
    server.control("shown", "terminate")
    server.wait_for_state("shown", "terminated", step=0)
    job.wait(20)


def test_branches_and_loops_are_scopes(server: Server, start_job, onnx_models: Path) -> None:
    environment = server.job_environment(GRAPHDBG_JOB="control")
    start_job(
        [sys.executable, "-m", "graphdbg._onnxruntime.show_model", str(onnx_models / "control.onnx")], environment
    )
    server.wait_for_state("control", "paused", pause_reason="start")
    graph = server.client.get("/jobs/control/graph/export?format=json")
    nodes = {node["name"] for node in graph["nodes"]}
    assert {"control/choose.then_branch/then_scale", "control/choose.else_branch/else_scale"} <= nodes
    assert {"control/repeat.body/increment", "control/repeat.body/keep"} <= nodes
    edges = {(edge["from"], edge["to"]) for edge in graph["edges"]}
    assert ("control/choose.then_branch/then_scale", "control/choose") in edges
    assert ("control/x", "control/choose.then_branch/then_scale") in edges
    assert {"control/sums.body/add", "control/sums.body/total"} <= nodes
    assert server.client.get("/jobs/control/graph/node?name=control/sums.body")["op_type"] == "Scan body"
