"""`graphdbg dap` attached to a job that others debug as well."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Server, clean_environment, losses, wait_until
from dap_client import DapProcess

SCRIPT = Path(__file__).resolve().parent / "dap" / "train.py"
HEAD = next(n for n, text in enumerate(SCRIPT.read_text().splitlines(), 1) if text.endswith("# line: head"))


@pytest.fixture
def job(server, start_job):
    """A job that waits before its first step."""
    process = start_job([sys.executable, str(SCRIPT), "6"], server.job_environment(GRAPHDBG_JOB="train"))
    server.wait_for_state("train", "paused")
    return process


@pytest.fixture
def dap(server: Server) -> Iterator[DapProcess]:
    client = DapProcess()
    client.initialize()
    yield client
    client.close()


def attach(dap: DapProcess, server: Server, **breakpoints: object) -> list[dict[str, object]]:
    """Attaches, sets breakpoints on lines, and returns these when the stop was reported."""
    dap.request("attach", server=server.client.address, tokenFile=str(server.data_dir / "token"), job="train")
    set_lines = dap.request("setBreakpoints", source={"path": str(SCRIPT)}, **breakpoints)["breakpoints"]
    dap.request("configurationDone")
    assert dap.event("stopped")["reason"] == "entry"
    return list(set_lines)


def watchpoints(server: Server) -> list[int]:
    return [each["id"] for each in server.client.get("/jobs/train/watchpoints")["watchpoints"]]


def watch(server: Server, node: str) -> int:
    body = {"condition": {"id": "executed"}, "patterns": [node]}
    return int(server.client.post("/jobs/train/watchpoints", body)["id"])


def test_only_what_the_session_has_made_is_replaced_and_removed(dap, server, job):
    others = watch(server, "forward/blocks/0/relu")
    attach(dap, server, breakpoints=[{"line": HEAD}])
    (own,) = set(watchpoints(server)) - {others}
    dap.request("setBreakpoints", source={"path": str(SCRIPT)}, breakpoints=[{"line": HEAD}])
    assert watchpoints(server) == [others, own]
    dap.request("setBreakpoints", source={"path": str(SCRIPT)}, breakpoints=[])
    dap.request("setExceptionBreakpoints", filters=["nan"])
    (nan,) = set(watchpoints(server)) - {others}
    dap.request("setExceptionBreakpoints", filters=[])
    assert nan not in watchpoints(server) and others in watchpoints(server)
    dap.request("continue", threadId=1)
    stopped = dap.event("stopped")
    assert (stopped["reason"], stopped["hitBreakpointIds"]) == ("exception", [])
    dap.request("setFunctionBreakpoints", breakpoints=[{"name": "forward/head/addmm"}])
    dap.request("disconnect")
    assert watchpoints(server) == [others]
    server.client.delete(f"/jobs/train/watchpoints/{others}")


def test_what_others_do_is_reported(dap, server, job):
    (own,) = attach(dap, server, breakpoints=[{"line": HEAD}])
    (watchpoint,) = watchpoints(server)
    server.client.delete(f"/jobs/train/watchpoints/{watchpoint}")
    removed = dap.event("breakpoint")
    while removed["reason"] != "removed":
        removed = dap.event("breakpoint")
    assert removed["breakpoint"]["id"] == own["id"]
    server.control("train", "step")
    assert dap.event("continued")["allThreadsContinued"]
    stopped = dap.event("stopped")
    assert stopped["reason"] == "step" and "moved by" in stopped["description"]


def test_hits_that_come_late_are_announced(server, job):
    client = DapProcess()
    try:
        client.initialize(supportsInvalidatedEvent=True)
        client.request("attach", server=server.client.address, tokenFile=str(server.data_dir / "token"), job="train")
        client.request("configurationDone")
        client.event("stopped")
        server.control("train", "step")
        client.event("stopped")
        condition = {"id": "expression", "params": {"expression": "abs_max >= 0"}}
        server.client.post("/jobs/train/watchpoints", {"condition": condition, "patterns": ["forward/head/weight"]})
        server.control("train", "recheck")
        assert client.event("invalidated") == {"areas": ["variables"], "threadId": 1}
    finally:
        client.close()


def test_a_job_that_was_debugged_trains_as_without(dap, server, job):
    attach(dap, server, breakpoints=[{"line": HEAD}])
    for _ in range(2):
        dap.request("continue", threadId=1)
        dap.event("stopped")
    frame = dap.request("stackTrace", threadId=1)["stackFrames"][0]["id"]
    assert dap.request("evaluate", expression="weight", frameId=frame)["type"] == "float32[3, 8]"
    dap.request("disconnect")
    output, _ = job.communicate(timeout=300)
    assert job.returncode == 0
    plain = subprocess.run(
        [sys.executable, str(SCRIPT), "6"], capture_output=True, text=True, env=clean_environment(), check=True
    )
    assert losses(output) == losses(plain.stdout) and len(losses(output)) == 6
    wait_until("the job to have finished", lambda: server.job("train")["state"] == "finished")


def test_a_file_that_only_the_job_has_is_shown(dap, server, start_job, tmp_path):
    copy = tmp_path / "model.py"
    shutil.copy(SCRIPT, copy)
    start_job([sys.executable, str(copy), "6"], server.job_environment(GRAPHDBG_JOB="train"))
    server.wait_for_state("train", "paused")
    dap.request("attach", server=server.client.address, tokenFile=str(server.data_dir / "token"), job="train")
    dap.request("setBreakpoints", source={"path": str(copy)}, breakpoints=[{"line": HEAD}])
    dap.request("configurationDone")
    dap.event("stopped")
    copy.unlink()
    dap.request("continue", threadId=1)
    dap.event("stopped")
    source = dap.request("stackTrace", threadId=1)["stackFrames"][0]["source"]
    found = dap.request("source", source=source, sourceReference=source["sourceReference"])
    assert found["content"] == SCRIPT.read_text()


def test_the_end_of_the_job_ends_the_session(dap, server, job):
    attach(dap, server, breakpoints=[])
    dap.request("continue", threadId=1)
    assert dap.event("exited") == {"exitCode": 0}
    dap.event("terminated")


def test_a_client_that_counts_from_zero_and_writes_uris_is_understood(server, job):
    client = DapProcess()
    try:
        client.initialize(linesStartAt1=False, columnsStartAt1=False, pathFormat="uri")
        client.request("attach", server=server.client.address, tokenFile=str(server.data_dir / "token"), job="train")
        source = {"path": SCRIPT.as_uri()}
        (own,) = client.request("setBreakpoints", source=source, breakpoints=[{"line": HEAD - 1}])["breakpoints"]
        assert (own["line"], own["source"]["path"]) == (HEAD - 1, SCRIPT.as_uri())
        client.request("configurationDone")
        client.event("stopped")
        client.request("continue", threadId=1)
        assert client.event("stopped")["hitBreakpointIds"] == [own["id"]]
        frame = client.request("stackTrace", threadId=1)["stackFrames"][0]
        assert (frame["line"], frame["column"], frame["source"]["path"]) == (HEAD - 1, 0, SCRIPT.as_uri())
    finally:
        client.close()
