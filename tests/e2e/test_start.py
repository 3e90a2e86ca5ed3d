"""`graphdbg start` with jobs that connect to it and are controlled over HTTP."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import GRAPHDBG, HOSTS, Server, clean_environment, losses, wait_until
from graphdbg.cli.client import ApiError, Client

DIGITS = [sys.executable, str(HOSTS / "digits_cnn.py"), "--steps", "60"]


def test_stop_look_step_and_go_on(server: Server, start_job) -> None:
    job = start_job(DIGITS, server.job_environment(GRAPHDBG_JOB="digits"))
    state = server.wait_for_state("digits", "paused")
    assert state["pause_reason"] == "start" and state["step"] == 0
    top = server.client.get("/jobs/digits/graph/scope", name="forward")
    assert {"conv1", "conv2", "fc1", "fc2"} <= {node["label"] for node in top["nodes"]}
    weight = server.client.get("/jobs/digits/tensor", name="forward/conv1/weight:0", slice="[0,0]")
    assert weight["shape"] == [16, 1, 3, 3]
    assert [len(row) for row in weight["data"]] == [3, 3, 3]

    server.control("digits", "step", steps=2)
    state = server.wait_for_state("digits", "paused", step=2)
    assert state["pause_reason"] == "step"

    server.control("digits", "next_node")
    state = server.wait_for_state("digits", "paused", pause_reason="node")
    assert state["step"] == 3 and state["node"].startswith("forward/")

    server.control("digits", "continue_to", node="forward/fc2/addmm")
    state = server.wait_for_state("digits", "paused", node="forward/fc2/addmm")
    logits = server.client.get("/jobs/digits/tensor", name="forward/fc2/addmm:0", slice="[:2]", statistics=1)
    assert logits["slice_shape"] == [2, 10] and logits["statistics"]["count"] == 640

    server.control("digits", "continue")
    out, _ = job.communicate(timeout=120)
    assert job.returncode == 0 and len(losses(out)) == 60
    state = server.wait_for_state("digits", "finished")
    assert state["exit_code"] == 0 and state["step"] == 60


def test_a_job_that_waits_says_where_its_page_is(tmp_path: Path, start_job) -> None:
    command = [GRAPHDBG, "start", "--port=0", "--debugger-port=0", f"--data-dir={tmp_path}", "--no-auth"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean_environment())
    try:
        assert server.stdout
        page, debugger = (server.stdout.readline().split()[-1] for _ in range(2))
        environment = clean_environment(GRAPHDBG_ENABLE="1", GRAPHDBG_PORT=debugger.rpartition(":")[2])
        job = start_job(DIGITS, environment)
        message = next(line for line in job.stderr if page in line)
        assert message.startswith("graphdbg: ") and "Continue" in message
    finally:
        server.terminate()
        server.wait()


def test_pause_and_terminate_run_the_scripts_own_endings(server: Server, start_job, tmp_path: Path) -> None:
    script = tmp_path / "endings.py"
    script.write_text(
        "import atexit, torch\n"
        "atexit.register(print, 'atexit ran')\n"
        "net = torch.nn.Linear(2, 2)\n"
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "try:\n"
        "    while True:\n"
        "        loss = net(torch.ones(1, 2)).sum(); opt.zero_grad(); loss.backward(); opt.step()\n"
        "finally:\n"
        "    print('finally ran')\n"
    )
    job = start_job([sys.executable, str(script)], server.job_environment(GRAPHDBG_JOB="endless", GRAPHDBG_WAIT="0"))
    server.wait_for_state("endless", "running")
    server.control("endless", "pause")
    assert server.wait_for_state("endless", "paused")["pause_reason"] == "user"
    server.control("endless", "terminate")
    out, _ = job.communicate(timeout=60)
    assert out.splitlines() == ["finally ran", "atexit ran"]
    assert job.returncode == 143
    server.wait_for_state("endless", "terminated")


def test_interrupt_from_the_keyboard_ends_a_paused_job(server: Server, start_job) -> None:
    job = start_job(DIGITS, server.job_environment(GRAPHDBG_JOB="digits"))
    server.wait_for_state("digits", "paused")
    job.send_signal(signal.SIGINT)
    _, err = job.communicate(timeout=60)
    assert "KeyboardInterrupt" in err
    assert job.returncode in (130, -signal.SIGINT)


def test_two_jobs_at_once_are_kept_apart(server: Server, start_job) -> None:
    for name in ("first", "second"):
        start_job(DIGITS, server.job_environment(GRAPHDBG_JOB=name))
    for name in ("first", "second"):
        server.wait_for_state(name, "paused")
    server.control("first", "step", steps=1)
    server.wait_for_state("first", "paused", step=1)
    second = server.job("second")
    assert second and second["step"] == 0 and second["state"] == "paused"


def test_job_killed_while_paused_is_lost_and_others_live_on(server: Server, start_job) -> None:
    job = start_job(DIGITS, server.job_environment(GRAPHDBG_JOB="victim"))
    start_job(DIGITS, server.job_environment(GRAPHDBG_JOB="other"))
    server.wait_for_state("victim", "paused")
    server.wait_for_state("other", "paused")
    job.kill()
    server.wait_for_state("victim", "lost")
    with pytest.raises(ApiError) as error:
        server.control("victim", "continue")
    assert error.value.status == 409 and error.value.code == "invalid_state"
    server.control("other", "step", steps=1)
    server.wait_for_state("other", "paused", step=1)


def test_training_outlives_a_killed_server(server: Server, start_job) -> None:
    plain = subprocess.run(DIGITS, env=clean_environment(), capture_output=True, text=True, check=True)
    job = start_job(DIGITS, server.job_environment(GRAPHDBG_JOB="digits", GRAPHDBG_WAIT="1"))
    server.wait_for_state("digits", "paused")
    server.client.post("/jobs/digits/watchpoints", {"condition": {"id": "nan", "params": {}}})
    server.control("digits", "step", steps=5)
    server.wait_for_state("digits", "paused", step=5)
    server.control("digits", "continue")
    server.process.kill()
    out, err = job.communicate(timeout=120)
    assert job.returncode == 0
    assert losses(out) == losses(plain.stdout)
    lines = [line for line in err.splitlines() if line.startswith("graphdbg:")]
    assert len(lines) <= 2, err


def test_without_a_server_training_goes_on_with_one_warning(start_job) -> None:
    plain = subprocess.run(DIGITS, env=clean_environment(), capture_output=True, text=True, check=True)
    # Nothing listens on port 1.
    environment = clean_environment(GRAPHDBG_ENABLE="1", GRAPHDBG_PORT="1", GRAPHDBG_CONNECT_TIMEOUT="1")
    job = start_job(DIGITS, environment)
    out, err = job.communicate(timeout=120)
    assert job.returncode == 0
    assert losses(out) == losses(plain.stdout)
    warnings = [line for line in err.splitlines() if line.startswith("graphdbg:")]
    assert len(warnings) == 1 and "127.0.0.1:1" in warnings[0]


def test_wrong_agent_token_is_refused_and_training_goes_on(server: Server, start_job) -> None:
    plain = subprocess.run(DIGITS, env=clean_environment(), capture_output=True, text=True, check=True)
    environment = server.job_environment(GRAPHDBG_JOB="stranger", GRAPHDBG_TOKEN="wrong")
    del environment["GRAPHDBG_TOKEN_FILE"]
    job = start_job(DIGITS, environment)
    out, err = job.communicate(timeout=120)
    assert job.returncode == 0
    assert losses(out) == losses(plain.stdout)
    warnings = [line for line in err.splitlines() if line.startswith("graphdbg:")]
    assert len(warnings) == 1 and "token" in warnings[0]
    assert server.job("stranger") is None


def test_port_in_use_is_one_clear_line(server: Server, tmp_path: Path) -> None:
    port = server.addresses["http_address"].rpartition(":")[2]
    second = subprocess.run(
        [GRAPHDBG, "start", f"--port={port}", "--debugger-port=0", f"--data-dir={tmp_path / 'other'}"],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert second.returncode == 3
    assert port in second.stderr and "in use" in second.stderr
    assert len(second.stderr.strip().splitlines()) == 1


def test_errors_of_the_interface_name_the_thing(server: Server, start_job) -> None:
    start_job(DIGITS, server.job_environment(GRAPHDBG_JOB="digits"))
    server.wait_for_state("digits", "paused")
    client = server.client

    def problem(call, *arguments, **keywords) -> ApiError:
        with pytest.raises(ApiError) as error:
            call(*arguments, **keywords)
        return error.value

    unknown_job = problem(client.get, "/jobs/nobody")
    assert unknown_job.status == 404
    unknown_node = problem(server.control, "digits", "continue_to", node="forward/nothing")
    assert (unknown_node.status, unknown_node.code) == (404, "unknown_node")
    for node in ("forward/conv1/weight", "forward/conv1"):
        never = problem(server.control, "digits", "continue_to", node=node)
        assert (never.status, never.code) == (422, "not_executable") and node in str(never)
    bad_slice = problem(client.get, "/jobs/digits/tensor", name="forward/conv1/weight:0", slice="[0,0,0,0,0]")
    assert bad_slice.status == 400 and "4" in str(bad_slice)
    out_of_range = problem(client.get, "/jobs/digits/tensor", name="forward/conv1/weight:0", slice="[99]")
    assert out_of_range.status == 400 and "16" in str(out_of_range)
    condition = problem(client.post, "/jobs/digits/watchpoints", {"condition": {"id": "nope", "params": {}}})
    assert condition.status == 422
    with pytest.raises(ApiError) as error:
        Client(server.addresses["http_address"], "wrong").get("/jobs")
    assert error.value.status == 401
    # After all these errors, the job still obeys commands.
    server.control("digits", "step", steps=1)
    server.wait_for_state("digits", "paused", step=1)


def test_watchpoint_made_over_http_stops_the_job(server: Server, start_job) -> None:
    job = start_job([sys.executable, str(HOSTS / "digits_cnn.py")], server.job_environment(GRAPHDBG_JOB="digits"))
    server.wait_for_state("digits", "paused")
    made = server.client.post(
        "/jobs/digits/watchpoints",
        {"condition": {"id": "max_gt", "params": {"value": 20}}, "patterns": ["forward/fc2/addmm"], "pause": "node"},
    )
    assert made["id"] == 1
    server.control("digits", "continue")
    state = server.wait_for_state("digits", "paused", pause_reason="watchpoint")
    assert state["node"] == "forward/fc2/addmm" and state["stopped_by"] == [1]
    (hit,) = server.client.get("/jobs/digits/hits")["hits"]
    assert hit["statistics"]["max"] > 20 and hit["actual"]
    value = server.client.get("/jobs/digits/tensor", name="forward/fc2/addmm:0")
    assert max(max(row) for row in value["data"]) == pytest.approx(hit["statistics"]["max"])
    wait_until("the job to be alive", lambda: job.poll() is None)
