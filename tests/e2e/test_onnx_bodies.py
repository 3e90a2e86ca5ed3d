"""Nodes inside If, Loop and Scan under ONNX Runtime are debugged like others, once per iteration."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import Finished, Json, Server, clean_environment, wait_until
from graphdbg.cli.client import ApiError
from test_onnxruntime import RUN_MODEL, digests, plain_run

EVERYTHING = ("--no-wait", "--break-on", "expr:count > 0", "--on-hit", "continue")


@pytest.mark.long(but=["loops", "branches"])
@pytest.mark.parametrize("optimized", [True, False])
@pytest.mark.parametrize("model", ["branches", "loops", "scans", "lists", "maybes", "calls", "growth", "scripted"])
def test_gives_the_program_the_same_bits(debug_run, onnx_models: Path, model: str, optimized: bool) -> None:
    arguments = [str(onnx_models / f"{model}.onnx"), "--runs", "16", *([] if optimized else ["--no-optimizations"])]
    run: Finished = debug_run(*EVERYTHING, command=[sys.executable, RUN_MODEL, *arguments])
    assert digests(run.stdout) == plain_run(*arguments)
    assert "whole" not in run.stderr and "not debugged" not in run.stderr
    inside = {hit["node"].rpartition("/")[2] for hit in run.result["hits"] if "." in hit["node"]}
    expected = {
        # Both branches, one of which contains another If.
        "branches": {"Mul", "If", "Exp", "Neg", "ReduceMax"},
        "loops": {"Add", "ReduceSum", "Less", "Sub", "Mul", "If"},
        "scans": {"Add", "Mul", "Neg", "ReduceMax", "Identity", "part", "column", "before"},
        # Sequences have no values to show.
        "lists": {"Add", "Cast"},
        # Optional values cannot be passed between pieces, so the Loop runs whole.
        "maybes": set(),
        "calls": {"Sigmoid", "Mul"},
        "growth": {"Mul"},
        "scripted": {"Sin", "Add", "Mul_1", "Sub"},
    }[model]
    assert inside >= expected and bool(inside) == bool(expected)


PASSED_ON = """
import sys, numpy as np, onnxruntime as ort
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
session = ort.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
x = np.ones(2, np.float32)
y, z, sum = session.run(None, {"x": x})
x[:], y[:] = 99, 98
print(x, y, z, sum)
"""


def test_outputs_are_the_programs_own(debug_run, tmp_path: Path) -> None:
    """Even if a Loop returns its input unchanged, and twice."""
    import onnx
    import onnx.parser

    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y, float[2] z, float[2] sum)
    <int64 three = {3}, bool yes = {1}> {
      y, z, sum = Loop (three, yes, x, x, x) <body = b (int64 i, bool go, float[2] a, float[2] b, float[2] v)
          => (bool go, float[2] a, float[2] a, float[2] w) { w = Add(v, a) }>
    }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "g.onnx")
    command = [sys.executable, "-c", PASSED_ON, str(tmp_path / "g.onnx")]
    plain = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, check=True).stdout
    assert debug_run(*EVERYTHING, command=command).stdout == plain == "[99. 99.] [98. 98.] [1. 1.] [4. 4.]\n"


def test_finds_the_iteration_of_an_overflow(debug_run, onnx_models: Path) -> None:
    command = [str(onnx_models / "growth.onnx"), "--random-inputs"]
    run: Finished = debug_run("--no-wait", "--break-on", "inf", "--on-hit", "continue", command=command)
    found = [(hit["node"], hit["actual"].get("iteration"), hit["origin"]) for hit in run.result["hits"]]
    assert found == [
        ("growth/Loop.body/Mul", 6, "origin"),
        ("growth/Loop.body/v", 7, "propagated"),
        ("growth/Loop.body/Mul", 7, "propagated"),
        ("growth/Loop.body/v", 8, "propagated"),
        ("growth/Loop.body/Mul", 8, "propagated"),
        ("growth/Loop", None, "propagated"),
    ]
    assert "growth/Loop.body/Mul:0  (Mul, origin, iteration 6)" in run.stderr


Paused = Callable[..., str]


@pytest.fixture
def paused(server: Server, start_job, onnx_models: Path) -> Paused:
    """Starts a job that waits before the first run of that model."""

    def start(model: str, *options: str) -> str:
        command = [sys.executable, RUN_MODEL, str(onnx_models / f"{model}.onnx"), *options]
        start_job(command, server.job_environment(GRAPHDBG_JOB=model))
        server.wait_for_state(model, "paused", pause_reason="start")
        return model

    return start


def value(server: Server, job: str, node: str) -> np.ndarray:
    found: Json = server.client.get(f"/jobs/{job}/tensor?name={node}:0")
    return np.array(found["data"], dtype=np.float32)


def test_stops_at_nodes_of_each_iteration(server: Server, paused: Paused) -> None:
    job = paused("growth")
    square, result = "growth/Loop.body/Mul", "growth/Loop"

    def squared() -> float | None:
        try:
            return float(value(server, job, square)[0])
        except ApiError:
            # The job is running.
            return None

    for expected in (1e2, 1e4, 1e8):
        server.control(job, "continue_to", node=square)
        # The value distinguishes this stop from the previous one.
        wait_until(f"a stop with {expected}", lambda wanted=expected: squared() == wanted)
        server.wait_for_state(job, "paused", pause_reason="node", node=square)
    server.control(job, "next_node")
    server.wait_for_state(job, "paused", node="growth/Loop.body/i")
    assert value(server, job, "growth/Loop.body/i") == 3
    server.control(job, "continue_to", node=result)
    server.wait_for_state(job, "paused", node=result)
    # The value of the last iteration.
    assert np.array_equal(value(server, job, square), value(server, job, result))
    assert value(server, job, "growth/Loop.body/i") == 7
    server.control(job, "terminate")
    server.wait_for_state(job, "terminated")


def test_a_watched_node_stops_in_the_first_iteration_that_meets_the_condition(server: Server, paused: Paused) -> None:
    job = paused("growth")
    condition = {"id": "expression", "params": {"expression": "max > 1e3"}}
    server.client.post(f"/jobs/{job}/watchpoints", {"condition": condition, "nodes": ["growth/Loop.body/Mul"]})
    server.control(job, "continue")
    server.wait_for_state(job, "paused", pause_reason="watchpoint", node="growth/Loop.body/Mul", step=1)
    hits = server.client.get(f"/jobs/{job}/hits")["hits"]
    assert [(hit["actual"]["iteration"], hit["statistics"]["max"]) for hit in hits] == [(2, 1e4)]


def test_values_are_those_of_the_branch_that_was_taken(server: Server, paused: Paused) -> None:
    job = paused("branches", "--no-optimizations")
    taken = {"branches/If.then_branch/Mul", "branches/If.else_branch/ReduceMax"}
    server.control(job, "step")
    server.wait_for_state(job, "paused", pause_reason="step", step=1)
    condition = bool(value(server, job, "branches/c"))
    there = "branches/If.then_branch/Mul" if condition else "branches/If.else_branch/ReduceMax"
    (absent,) = taken - {there}
    slot = 0 if condition else 1
    whole = server.client.get(f"/jobs/{job}/tensor?name=branches/If:{slot}")["data"]
    assert np.array_equal(value(server, job, there), np.array(whole, np.float32))
    with pytest.raises(ApiError) as refused:
        value(server, job, absent)
    assert refused.value.code == "value_gone"
    # A constant inside a branch is available whether the branch was taken or not.
    assert value(server, job, "branches/If.then_branch/fixed").tolist() == [7, 8]


def test_the_graph_stays_as_it_was_shown(server: Server, paused: Paused) -> None:
    """Values that a loop passes from one iteration to the next do not change its edges."""
    job = paused("loops")

    def edges() -> set[tuple[str, str]]:
        graph = server.client.get(f"/jobs/{job}/graph/export?format=json")
        return {(edge["from"], edge["to"]) for edge in graph["edges"]}

    before = edges()
    assert {("loops/Loop_2.body/Loop.body/Sub", "loops/Loop_2.body/Loop"), ("loops/x", "loops/Loop.body/v")} <= before
    server.control(job, "step", steps=3)
    server.wait_for_state(job, "paused", pause_reason="step", step=3)
    assert edges() == before


def stop_at_abs(server: Server, job: str) -> None:
    """Pauses before the loops in the third step, with a watchpoint on that node only."""
    watched = {"condition": {"id": "expression", "params": {"expression": "step >= 3"}}, "nodes": ["loops/Abs"]}
    server.client.post(f"/jobs/{job}/watchpoints", watched)
    server.control(job, "continue")
    server.wait_for_state(job, "paused", pause_reason="watchpoint", node="loops/Abs", step=3)


def test_what_nobody_looks_into_stays_one_node(server: Server, paused: Paused) -> None:
    """Even if another node is watched, and if a branch has never been taken."""
    job = paused("loops", "--runs", "100000")
    stop_at_abs(server, job)
    graph = server.client.get(f"/jobs/{job}/graph/export?format=json")
    steps = {node["name"]: node["last_step"] for node in graph["nodes"] if node["kind"] == "op"}
    assert steps["loops/Abs"] == 3 and steps["loops/Loop_1"] > 0
    assert {step for name, step in steps.items() if "." in name} == {0}
    # A request for a value changes that: the value is available at the next stop.
    inner = "loops/Loop_1.body/Add"
    server.client.post(f"/jobs/{job}/tensor/catch", {"node": inner})
    server.control(job, "continue")
    server.wait_for_state(job, "paused", pause_reason="watchpoint", node="loops/Abs", step=4)
    assert value(server, job, inner).max() >= 50


def test_goes_inside_from_a_stop_before_it(server: Server, paused: Paused) -> None:
    job = paused("loops", "--runs", "100000")
    stop_at_abs(server, job)
    for node in ("j", "go_on", "before", "Cast", "Add"):
        server.control(job, "next_node")
        server.wait_for_state(job, "paused", pause_reason="node", node=f"loops/Loop_1.body/{node}", step=3)
    server.control(job, "continue")
    server.wait_for_state(job, "paused", pause_reason="watchpoint", node="loops/Abs", step=4)
    inside = "loops/Loop_2.body/Loop.body/Sub"
    server.control(job, "continue_to", node=inside)
    server.wait_for_state(job, "paused", pause_reason="node", node=inside, step=4)


def test_pauses_inside_of_a_loop(server: Server, paused: Paused) -> None:
    job = paused("long")
    condition = {"id": "expression", "params": {"expression": "max < 2"}}
    watchpoint = {"condition": condition, "nodes": ["long/Loop.body/Add"], "pause": "none"}
    server.client.post(f"/jobs/{job}/watchpoints", watchpoint)
    server.control(job, "continue")
    # The hit of the first iteration.
    wait_until("a hit in the loop", lambda: server.client.get(f"/jobs/{job}/hits")["hits"])
    server.control(job, "pause")
    stopped = server.wait_for_state(job, "paused", pause_reason="user")
    assert stopped["node"].startswith("long/Loop.body/")
    server.control(job, "terminate")
    server.wait_for_state(job, "terminated")


def test_says_which_bodies_are_not_looked_into(server: Server, paused: Paused) -> None:
    job = paused("maybes")
    server.control(job, "step")
    server.wait_for_state(job, "paused", pause_reason="step")
    for route in ("tensor", "tensor/statistics"):
        with pytest.raises(ApiError) as refused:
            server.client.get(f"/jobs/{job}/{route}?name=maybes/Loop.body/Add:0")
        assert refused.value.code == "not_captured"
        assert "Loop" in str(refused.value) and "optional" in str(refused.value)
