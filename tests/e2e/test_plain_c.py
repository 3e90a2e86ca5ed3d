"""A C program with a custom engine (agent/examples), which is debugged like any other
job: the agent does not need a framework."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import Finished, Server, clean_environment, wait_until

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def regression() -> str:
    """The compiled program. `bazel build //agent/examples/...` builds it."""
    program = Path(os.environ.get("GRAPHDBG_EXAMPLES") or ROOT / "bazel-bin/agent/examples") / "regression"
    if not program.exists():
        pytest.skip(f"{program} is not built")
    return str(program)


def test_trains_by_itself_as_if_there_were_no_debugger(regression: str) -> None:
    run = subprocess.run([regression], env=clean_environment(), capture_output=True, text=True, check=True)
    assert len(re.findall(r"^step \d+ loss", run.stdout, re.MULTILINE)) == 20
    slope, intercept = map(float, run.stdout.split()[-2:])
    assert slope == pytest.approx(3, abs=0.01) and intercept == pytest.approx(-1, abs=0.01)
    assert run.stderr == ""


def test_needs_nothing_but_the_agent_and_the_runtimes(regression: str) -> None:
    out = subprocess.run(["ldd", regression], capture_output=True, text=True, check=True).stdout
    libraries = {Path(line.split()[0]).name.split(".so")[0] for line in out.splitlines()}
    runtimes = {"linux-vdso", "libc", "libm", "libstdc++", "libgcc_s", "libdl", "libpthread", "librt"}
    assert "libgraphdbg" in libraries
    assert {name for name in libraries if not name.startswith("ld-linux")} <= runtimes | {"libgraphdbg"}, out


def test_stops_at_the_first_op_that_is_not_finite(debug_run, regression: str) -> None:
    run: Finished = debug_run(
        "--no-wait",
        "--break-on",
        "nan,inf",
        "--on-hit",
        "terminate",
        command=[regression, "--rate", "1.5", "--steps", "500"],
    )
    assert run.code == 143
    first = run.result["hits"][0]
    assert (first["node"], first["op_type"], first["origin"]) == ("forward/loss", "loss", "origin")
    assert first["source"]["file"].endswith("regression.c") and first["source"]["line"] > 0
    # The program has run to its end: it prints the last line after the loop.
    assert run.stdout.splitlines()[-1].startswith("weight ")


def test_is_controlled_and_looked_into_like_any_job(server: Server, start_job, regression: str) -> None:
    job = start_job([regression, "--steps", "50"], server.job_environment(GRAPHDBG_JOB="line"))
    state = server.wait_for_state("line", "paused", pause_reason="start")
    assert (state["framework"], state["step"]) == ("plain C", 0)
    get = server.client.get

    def value(name: str, **more: str) -> list[float]:
        data: list[float] = get("/jobs/line/tensor", name=name, **more)["data"]
        return data

    assert value("forward/line/weight:0") == [0, 0]
    # No op has run yet, so the node does not exist. A command may wait for it.
    server.control("line", "continue_to", node="backward/gradient", pending=True)
    server.wait_for_state("line", "paused", node="backward/gradient", step=1)
    gradient = value("backward/gradient:0")
    assert len(value("forward/line/predict:0", slice="[::2]")) == 32

    server.control("line", "step", steps=1)
    server.wait_for_state("line", "paused", step=1, pause_reason="step")
    weight = value("forward/line/weight:0")
    assert weight == pytest.approx([-0.5 * slope for slope in gradient])
    server.control("line", "step", steps=1)
    server.wait_for_state("line", "paused", step=2)
    assert value("forward/line/weight:0", step="previous") == weight
    assert value("forward/line/weight:0") != weight

    (op,) = get("/jobs/line/graph/search", q="predict", **{"in": "names"})["nodes"]
    assert (op["first_step"], op["last_step"]) == (1, 2)
    assert {end["node"] for end in get("/jobs/line/graph/node", name=op["name"])["inputs"]} == {
        "forward/points",
        "forward/line/weight",
    }
    server.control("line", "continue")
    out, _ = job.communicate(timeout=60)
    assert job.returncode == 0 and len(out.splitlines()) == 51
    server.wait_for_state("line", "finished", step=50)


def test_its_graph_is_an_onnx_file(server: Server, start_job, regression: str) -> None:
    import onnx

    start_job([regression, "--steps", "50"], server.job_environment(GRAPHDBG_JOB="line"))
    server.wait_for_state("line", "paused", pause_reason="start")
    server.control("line", "step", steps=1)
    server.wait_for_state("line", "paused", step=1)
    model = onnx.load_from_string(server.client.download("/jobs/line/graph/export", format="onnx"))
    onnx.checker.check_model(model)
    assert {"forward/loss", "backward/gradient"} <= {node.name for node in model.graph.node}
    assert "forward/line/weight:0" in {value.name for value in model.graph.input}


def test_watchpoints_set_at_a_stop_are_rechecked_there(server: Server, start_job, regression: str) -> None:
    start_job([regression], server.job_environment(GRAPHDBG_JOB="line"))
    server.wait_for_state("line", "paused")
    server.control("line", "step", steps=1)
    server.wait_for_state("line", "paused", step=1)
    spec = {"condition": {"id": "max_gt", "params": {"value": 1.0}}, "patterns": ["forward/**"]}
    server.client.post("/jobs/line/watchpoints", spec)
    state = server.job("line")
    assert state and state["unchecked_watchpoints"] == [1]
    server.control("line", "recheck")

    def both_hits() -> list[dict]:
        hits: list[dict] = server.client.get("/jobs/line/hits")["hits"]
        return hits if len(hits) >= 2 else []

    hits = wait_until("hits of the recheck", both_hits)
    # Outputs in the order of execution, then the current parameters.
    assert [(hit["node"], hit["step"]) for hit in hits] == [("forward/loss", 1), ("forward/line/weight", 1)]
    state = server.job("line")
    assert state and (state["state"], state["step"], state["unchecked_watchpoints"]) == ("paused", 1, [])


@pytest.mark.parametrize("how", ["terminate", "interrupt"])
def test_ends_when_told_to(server: Server, start_job, regression: str, how: str) -> None:
    job = start_job([regression], server.job_environment(GRAPHDBG_JOB="line"))
    server.wait_for_state("line", "paused")
    if how == "terminate":
        server.control("line", "terminate")
    else:
        job.send_signal(signal.SIGINT)
    out, _ = job.communicate(timeout=60)
    assert job.returncode == (143 if how == "terminate" else 130)
    assert out.splitlines()[-1].startswith("weight ")
