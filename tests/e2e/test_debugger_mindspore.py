"""The terminal, an editor and a coding agent on a MindSpore job, whose protocol knows fewer commands."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import GRAPHDBG, Server, clean_environment
from dap_client import DapProcess
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

SCRIPT = Path(__file__).resolve().parent / "mindspore_job.py"
JOB = "mindspore-0"
CONV = "Default/network-WithLossCell/_backbone-LeNet5/conv2-Conv2d"


@pytest.fixture
def job(server: Server) -> Iterator[subprocess.Popen[bytes]]:
    """A job that waits before its first step, and whose third one has NaN."""
    port = server.addresses["debugger_address"].rpartition(":")[2]
    process = subprocess.Popen([sys.executable, str(SCRIPT), port, "6"], env=clean_environment())
    server.wait_for_state(JOB, "paused")
    yield process
    process.kill()
    process.wait()


def test_the_terminal_moves_it_and_shows_its_values(server: Server, job, tmp_path: Path) -> None:
    lines = [
        *("info job", "step", "stepi", "backtrace", "next", "print $[0,0]", "finish", "watch nan", "continue"),
        *("info hits", "capture"),
    ]
    done = subprocess.run(
        [GRAPHDBG, "dbg", JOB, "--server", server.client.address, "--token-file", str(server.data_dir / "token")],
        input="\n".join(lines),
        env=clean_environment(HOME=str(tmp_path)),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    shown = [
        *("mindspore 1.2.0", "at the end of step 1", "OneHot-op0, step 2"),
        *(f"after {CONV}/Cast-op188, step 2", "[[ 0.  1.  2.  3.  4.]", "conv1-Conv2d/Cast-op189, step 2"),
        *("Watchpoint 1, nan at Default/args0:0, step 3", "makes no bundles"),
    ]
    at = 0
    for part in shown:
        at = done.stdout.find(part, at)
        assert at >= 0, f"{part} is missing in\n{done.stdout}"


def test_an_editor_steps_and_reads(server: Server, job) -> None:
    dap = DapProcess()
    try:
        filters = dap.initialize()["exceptionBreakpointFilters"]
        assert "nan" in [each["filter"] for each in filters]
        dap.request("attach", server=server.client.address, tokenFile=str(server.data_dir / "token"), job=JOB)
        dap.request("setExceptionBreakpoints", filters=["nan"])
        dap.request("configurationDone")
        assert dap.event("stopped")["reason"] == "entry"
        for move in ("stepIn", "next", "stepOut"):
            dap.request(move, threadId=1)
            assert dap.event("stopped")["reason"] in ("step", "goto")
        (frame, *_) = dap.request("stackTrace", threadId=1)["stackFrames"]
        assert frame["name"] == "Default/network-WithLossCell/_backbone-LeNet5/conv1-Conv2d/Cast-op189"
        assert dap.request("evaluate", expression="$", frameId=frame["id"])["result"].startswith("float32[6, 1, 5, 5]")
        scopes = [each["name"] for each in dap.request("scopes", frameId=frame["id"])["scopes"]]
        assert scopes[:2] == ["Outputs", "Inputs"]
        dap.request("continue", threadId=1)
        assert dap.event("stopped")["reason"] == "exception"
        assert dap.request("exceptionInfo", threadId=1)["exceptionId"] == "nan"
        dap.request("disconnect", terminateDebuggee=True)
        assert job.wait(60) == 0
    finally:
        dap.close()


def test_a_coding_agent_watches_it(server: Server, job) -> None:
    options = ["mcp", "--server", server.client.address, "--token-file", str(server.data_dir / "token")]

    async def steps() -> str:
        parameters = StdioServerParameters(command=GRAPHDBG, args=options, env=clean_environment())
        async with Client(stdio_client(parameters)) as client:
            answers = []
            for tool, arguments in (
                ("attach", {"target": JOB}),
                ("watch", {"condition": "nan"}),
                ("continue", {}),
                ("hits", {}),
                ("terminate", {}),
            ):
                answer = await client.call_tool(tool, arguments)
                answers.append("\n".join(each.text for each in answer.content))
                assert not answer.is_error, answers[-1]
            return "\n".join(answers)

    text = asyncio.run(asyncio.wait_for(steps(), 300))
    assert "mindspore 1.2.0" in text
    assert "nan at Default/args0:0 in step 3" in text
    assert job.wait(60) == 0
