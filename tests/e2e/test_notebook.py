"""`%%graphdbg` in a real IPython kernel."""

from __future__ import annotations

import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import graphdbg
import pytest
from conftest import clean_environment

pytest.importorskip("websockets")
pytest.importorskip("ipykernel")
manager = pytest.importorskip("jupyter_client.manager")

SECONDS = 180

TRAIN = """
import torch
def train(bad_step=0, steps=6):
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(1, steps + 1):
        loss = (model(torch.ones(2, 4)) / (step != bad_step)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return step
"""


class Notebook:
    """A kernel, as a Jupyter server at http://localhost:8888 would start it."""

    def __init__(self, tmp_path: Path) -> None:
        runtime = tmp_path / "runtime"
        runtime.mkdir()
        # The file in which a Jupyter server describes itself.
        (runtime / f"jpserver-{os.getpid()}.json").write_text(json.dumps({"url": "http://localhost:8888/"}))
        environment = clean_environment(
            JUPYTER_RUNTIME_DIR=str(runtime),
            XDG_STATE_HOME=str(tmp_path / "state"),
            XDG_DATA_HOME=str(tmp_path / "data"),
            TMPDIR=str(tmp_path),
        )
        self.directory = tmp_path
        self.kernel, self.client = manager.start_new_kernel(kernel_name="python3", env=environment)
        self.outputs: list[dict[str, Any]] = []

    def start(self, code: str) -> str:
        """Starts a cell and returns the id of its request."""
        return str(self.client.execute(code))

    def output(self, request: str) -> dict[str, Any]:
        """The next message of a cell."""
        while True:
            message = self.client.get_iopub_msg(timeout=SECONDS)
            if message["parent_header"].get("msg_id") == request:
                self.outputs.append(message)
                return message  # type: ignore[no-any-return]

    def finish(self, request: str) -> dict[str, Any]:
        """Waits for the end of a cell and returns its reply."""
        while True:
            message = self.output(request)
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                break
        while True:
            # Replies to earlier requests may still be there.
            reply = self.client.get_shell_msg(timeout=SECONDS)
            if reply["parent_header"].get("msg_id") == request:
                return reply["content"]  # type: ignore[no-any-return]

    def run(self, code: str) -> dict[str, Any]:
        reply = self.finish(self.start(code))
        assert reply["status"] == "ok", reply
        return reply

    def value(self, expression: str) -> Any:
        request = self.client.execute("", user_expressions={"value": expression})
        reply = self.finish(request)
        return json.loads(eval(reply["user_expressions"]["value"]["data"]["text/plain"]))

    def frame(self, request: str) -> str:
        """The address of the page below a cell."""
        while True:
            message = self.output(request)
            html = message["content"].get("data", {}).get("text/html", "")
            if found := re.search(r'src="([^"]+)"', html):
                return found[1]

    def text(self) -> str:
        """The text that the cells have printed."""
        return "".join(m["content"]["text"] for m in self.outputs if m["msg_type"] == "stream")

    def close(self) -> None:
        self.client.stop_channels()
        self.kernel.shutdown_kernel(now=True)


@pytest.fixture
def notebook(tmp_path) -> Iterator[Notebook]:
    notebook = Notebook(tmp_path)
    try:
        notebook.run("%load_ext graphdbg")
        notebook.run(TRAIN)
        yield notebook
    finally:
        notebook.close()


def headers_of(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=60) as response:
        return response.headers


def address_of(frame: str) -> str:
    return frame.partition("/#")[0]


def test_a_cell_is_debugged_and_its_page_is_shown_below_it(notebook):
    request = notebook.start("%%graphdbg --no-wait --break-on inf --on-hit terminate\nanswer = 6 * 7\ntrain(3)")
    frame = notebook.frame(request)
    # The page is at the notebook's own host, and only that notebook may show it.
    assert re.fullmatch(r"http://localhost:\d+/#.*code=.+", frame)
    headers = headers_of(address_of(frame))
    assert "frame-ancestors http://localhost:8888 http://127.0.0.1:8888" in headers["Content-Security-Policy"]
    assert headers["X-Frame-Options"] is None
    assert notebook.finish(request)["status"] == "ok"
    result = notebook.value("__import__('json').dumps(graphdbg_result)")
    assert (result["status"], result["hits"][0]["step"]) == ("terminated", 3)
    # Cells are the user's own code, although they are in no file.
    assert result["hits"][0]["source"]["function"] == "train"
    assert notebook.value("str(answer)") == 42


def test_the_last_expression_of_a_cell_is_shown(notebook):
    request = notebook.start("%%graphdbg --no-wait\ntrain(steps=2)")
    assert notebook.finish(request)["status"] == "ok"
    shown = [m["content"]["data"]["text/plain"] for m in notebook.outputs if m["msg_type"] == "execute_result"]
    assert shown == ["2"]


def test_an_exception_is_shown_as_that_of_the_cell(notebook):
    request = notebook.start("%%graphdbg --no-wait\ntrain(steps=1)\nraise KeyError('missing')")
    reply = notebook.finish(request)
    assert (reply["status"], reply["ename"]) == ("error", "KeyError")
    assert notebook.value("__import__('json').dumps(graphdbg_result)")["exception"]["type"] == "KeyError"


def test_a_waiting_cell_is_interrupted_and_the_next_one_replaces_it(notebook):
    request = notebook.start("%%graphdbg\ntrain()")
    first = notebook.frame(request)
    with graphdbg.connect(address_of(first).replace("localhost", "127.0.0.1"), token_of(notebook)) as client:
        client.job("notebook", timeout=SECONDS).wait_for_stop(SECONDS)
    notebook.kernel.interrupt_kernel()
    reply = notebook.finish(request)
    assert (reply["status"], reply["ename"]) == ("error", "KeyboardInterrupt")
    # The page of the interrupted cell can still be used.
    assert headers_of(address_of(first))

    request = notebook.start("%%graphdbg --steps 2\ntrain()")
    second = notebook.frame(request)
    assert notebook.finish(request)["status"] == "ok"
    assert address_of(first) != address_of(second)
    with pytest.raises(urllib.error.URLError):
        headers_of(address_of(first))
    result = notebook.value("__import__('json').dumps(graphdbg_result)")
    assert (result["status"], result["steps"]) == ("terminated", 2)


def token_of(notebook: Notebook) -> str:
    """The token of the server of the cell that runs now."""
    (token,) = notebook.directory.glob("graphdbg-*/token")
    return str(token.read_text().strip())


def test_wrong_options_are_errors_of_the_cell(notebook):
    reply = notebook.finish(notebook.start("%%graphdbg --no-such-option\ntrain()"))
    assert reply["status"] == "error" and "--no-such-option" in reply["evalue"]
    assert notebook.run("%%graphdbg --help\ntrain()")
    assert "--break-on" in notebook.text()
