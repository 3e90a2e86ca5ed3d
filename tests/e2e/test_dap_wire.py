"""The wire of `graphdbg dap`: what a well-behaved client of a library cannot send."""

from __future__ import annotations

import ctypes
import json
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import GRAPHDBG, clean_environment, wait_until
from dap_client import DapClient, DapProcess, framed, read_frame


@pytest.fixture
def adapter() -> Iterator[Callable[..., DapProcess]]:
    made: list[DapProcess] = []

    def start(*options: str) -> DapProcess:
        made.append(DapProcess(*options))
        return made[-1]

    yield start
    for each in made:
        each.close()


@pytest.fixture
def dap(adapter) -> DapProcess:
    return adapter()


def message(seq: int, command: str, **arguments: object) -> bytes:
    return json.dumps({"seq": seq, "type": "request", "command": command, "arguments": arguments}).encode()


INITIALIZE = {"adapterID": "graphdbg"}


def test_a_message_may_arrive_in_pieces(dap):
    for byte in framed(message(1, "initialize", **INITIALIZE)):
        dap.write(bytes([byte]))
    assert dap.response(1)["body"]["supportsConfigurationDoneRequest"]


def test_two_messages_may_arrive_at_once(dap):
    dap.write(framed(message(1, "initialize", **INITIALIZE)) + framed(message(2, "threads")))
    assert dap.response(1)["success"]
    assert dap.response(2)["message"] == "not attached to a job yet"


def test_names_of_headers_ignore_case(dap):
    content = message(1, "initialize", **INITIALIZE)
    dap.write(b"Content-Type: application/json\r\ncontent-length:%d\r\n\r\n" % len(content) + content)
    assert dap.response(1)["success"]


def test_each_condition_is_one_filter(dap):
    filters = dap.initialize()["exceptionBreakpointFilters"]
    labels = [each["label"] for each in filters]
    assert "NaN or infinity" in labels and len(labels) == len(set(labels))


def test_every_request_before_initialize_is_refused(dap):
    assert dap.refused("threads") == "the first request must be initialize"
    assert dap.refused("launch", program="train.py") == "the first request must be initialize"
    dap.initialize()
    assert dap.refused("initialize", adapterID="graphdbg") == "this session is initialized already"


REFUSED_WITHOUT_A_JOB = {
    "stackTrace": {"threadId": 1},
    "continue": {"threadId": 1},
    "next": {"threadId": 1},
    "stepIn": {"threadId": 1},
    "stepOut": {"threadId": 1},
    "stepBack": {"threadId": 1},
    "reverseContinue": {"threadId": 1},
    "pause": {"threadId": 1},
    "terminate": {},
    "evaluate": {"expression": "$"},
    "completions": {"text": "", "column": 1},
    "exceptionInfo": {"threadId": 1},
    "disassemble": {"memoryReference": "0x100000", "instructionCount": 1},
    "readMemory": {"memoryReference": "forward/fc:0@current@0", "count": 1},
    "modules": {},
    "loadedSources": {},
    "threads": {},
    "graphdbg/pageAddress": {},
}


def test_requests_without_a_job_say_so(dap):
    dap.initialize()
    for command, arguments in REFUSED_WITHOUT_A_JOB.items():
        assert dap.refused(command, **arguments) == "not attached to a job yet", command


def test_breakpoints_without_a_job_wait_for_it(dap):
    dap.initialize()
    found = dap.request("setBreakpoints", source={"path": "/a/train.py"}, breakpoints=[{"line": 3}, {"line": 5}])
    first, second = found["breakpoints"]
    assert not first["verified"] and first["message"] == "the job has not connected yet"
    again = dap.request("setBreakpoints", source={"path": "/a/train.py"}, breakpoints=[{"line": 5}, {"line": 7}])
    assert again["breakpoints"][0]["id"] == second["id"]
    assert again["breakpoints"][1]["id"] not in (first["id"], second["id"])
    wrong = dap.request("setFunctionBreakpoints", breakpoints=[{"name": "fc", "hitCondition": "% 2"}])["breakpoints"][0]
    assert "hitCondition must be a number" in wrong["message"] and wrong["reason"] == "failed"


def test_an_unknown_request_is_refused_and_the_session_continues(dap):
    dap.initialize()
    dap.write(framed(message(50, "flyAway")))
    response = dap.response(50)
    assert not response["success"] and "flyAway" in response["message"]
    assert dap.refused("threads") == "not attached to a job yet"


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        ({"seq": 7, "type": "request"}, "no command"),
        ({"seq": 7, "type": "letter", "command": "threads"}, "no type"),
        ({"seq": 7, "type": "request", "command": "threads", "arguments": [1]}, "not an object"),
        ({"seq": 7, "type": "request", "command": 3}, "no command"),
    ],
)
def test_a_malformed_message_with_a_number_is_answered(dap, sent, reason):
    dap.write(framed(json.dumps(sent).encode()))
    response = dap.response(7)
    assert not response["success"] and reason in response["message"]
    dap.initialize()


def nested(depth: int) -> bytes:
    return b'{"seq":7,"type":"request","command":"threads","arguments":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}"


def test_the_depth_of_messages_is_limited(dap):
    dap.initialize()
    dap.write(framed(nested(63)))
    assert dap.response(7)["message"] == "not attached to a job yet"
    dap.write(framed(nested(64)))
    assert "nested more than 64 levels" in dap.response(7)["message"]


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"Content-Length: x\r\n\r\n{}", "a header without Content-Length"),
        (b"\r\n\r\n", "a header without Content-Length"),
        (b"Content-Type: " + b"b" * 5000, "a header of more than 4096 bytes"),
        (b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", "a header that is none of the protocol"),
        (b"Content-Length: %d\r\n\r\n" % ((8 << 20) + 1), "8388609 bytes"),
        (framed(b"{"), "not JSON"),
        (framed(b'{"seq": NaN}'), "not JSON"),
        (framed(b"\xff\xfe"), "not JSON"),
        (framed(b"[]"), "not an object"),
        (framed(b'{"type": "request"}'), "without a sequence number"),
        (framed(b'{"seq": true, "type": "request"}'), "without a sequence number"),
        (framed(b"[" * 100_000), "nested too deeply"),
    ],
)
def test_what_cannot_be_answered_ends_the_session_with_one_line(dap, sent, reason):
    dap.write(sent)
    code, errors = dap.ended()
    assert code == 1 and reason in errors
    assert len(errors.splitlines()) == 1 and errors.startswith("graphdbg: dap: the session has ended")


def test_a_message_of_the_largest_size_is_read(dap):
    dap.initialize()
    empty = len(message(9, "threads", text=""))
    dap.write(framed(message(9, "threads", text="x" * ((8 << 20) - empty))))
    assert dap.response(9)["message"] == "not attached to a job yet"


def test_the_end_of_the_input_ends_the_session(dap):
    dap.initialize()
    dap.writer.close()
    assert dap.process.wait(60) == 0


def test_the_end_of_the_input_within_a_message_ends_the_session(dap):
    dap.write(b"Content-Length: 100\r\n\r\n{")
    dap.writer.close()
    assert dap.process.wait(60) == 0


def test_disconnect_ends_the_session(dap):
    dap.initialize()
    dap.request("disconnect")
    assert dap.process.wait(60) == 0


def test_responses_that_nobody_waits_for_are_ignored(dap):
    dap.write(framed(b'{"seq":1,"type":"response","request_seq":99,"success":true,"command":"runInTerminal"}'))
    dap.initialize()


SLOW = "import time\nprint('started', flush=True)\ntime.sleep(600)\n"


def test_what_was_launched_ends_with_the_adapter(dap, tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    dap.initialize()
    dap.request("launch", program="slow.py", cwd=str(tmp_path))
    pid = dap.event("process")["systemProcessId"]
    dap.process.send_signal(signal.SIGTERM)
    dap.process.wait(60)
    wait_until("the program to end", lambda: not is_running(pid))


def test_a_signal_ends_it_whatever_thread_gets_it(dap):
    dap.initialize()
    # Another thread answers this, and stays.
    assert dap.refused("evaluate", expression="$") == "not attached to a job yet"
    pid = dap.process.pid
    others = [int(name) for name in os.listdir(f"/proc/{pid}/task") if int(name) != pid]
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.tgkill(pid, others[0], signal.SIGTERM) == 0, os.strerror(ctypes.get_errno())
    assert dap.process.wait(60) == 143


def is_running(pid: int) -> bool:
    return subprocess.run(["kill", "-0", str(pid)], capture_output=True).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "launch needs one of"),
        ({"program": "missing.py"}, "program: there is no file missing.py"),
        ({"program": "a.py", "module": "b"}, "launch needs one of"),
        ({"command": "python a.py"}, "command must be a list"),
        ({"program": "train.py", "cwd": "/nowhere"}, "cwd: there is no directory"),
        ({"program": "train.py", "console": "newWindow"}, "console must be"),
        ({"program": "train.py", "stopOnEntry": "yes"}, "stopOnEntry must be true or false"),
        ({"program": "train.py", "python": "/nowhere/python"}, "python: there is no program"),
        ({"program": "train.py", "env": {"A": 1}}, "env must be an object of texts"),
        ({"program": "train.py", "breakOn": ["nann"]}, "unknown condition 'nann'"),
        ({"command": ["true"], "debugPython": True}, "debugPython needs program or module"),
        ({"command": ["/nowhere/trainer"]}, "cannot run /nowhere/trainer"),
    ],
)
def test_wrong_arguments_of_launch_are_named(dap, tmp_path, arguments, reason):
    (tmp_path / "train.py").write_text("")
    dap.initialize()
    assert reason in dap.refused("launch", **{"cwd": str(tmp_path), **arguments})


HELLO = """
import sys
print('one\\ttwo\\x1b[31m')
print('bad', file=sys.stderr)
sys.exit(3)
"""


def test_a_program_that_trains_nothing_is_run_to_its_end(dap, tmp_path):
    (tmp_path / "hello.py").write_text(
        "import sys\nprint('one\\ttwo\\x1b[31m')\nprint('bad', file=sys.stderr)\nsys.exit(3)\n"
    )
    dap.initialize()
    number = dap.send("launch", program="hello.py", cwd=str(tmp_path))
    dap.event("initialized")
    assert dap.request("threads") == {"threads": []}
    dap.request("configurationDone")
    if not any(each.get("request_seq") == number for each in dap.seen):
        dap.response(number)
    # It may end before the adapter has answered.
    assert dap.happened("exited") == {"exitCode": 3}
    dap.happened("terminated")
    output = {}
    for each in dap.seen:
        if each.get("event") == "output":
            output[each["body"]["category"]] = output.get(each["body"]["category"], "") + each["body"]["output"]
    assert output["stdout"] == "one\ttwo⟨U+001B⟩[31m\n"
    assert output["stderr"] == "bad\n"
    assert "nothing in it was debugged" in output["console"]


def test_without_debugging_the_agent_is_not_loaded(dap, tmp_path):
    (tmp_path / "shown.py").write_text("import os\nprint(os.environ.get('GRAPHDBG_ENABLE'), os.environ['MARK'])\n")
    dap.initialize()
    dap.request("launch", program="shown.py", cwd=str(tmp_path), noDebug=True, env={"MARK": "here"})
    dap.event("terminated")
    # A line may come in pieces.
    assert "None here\n" in "".join(each["body"]["output"] for each in dap.seen if each.get("event") == "output")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"processId": 1 << 30}, "no process 1073741824"),
        ({"processId": "first"}, "processId must be a whole number"),
        ({"run": "/nowhere"}, "run: there is no /nowhere"),
        ({"server": "http://127.0.0.1:9"}, "no graphdbg server at http://127.0.0.1:9"),
        ({"server": 3}, "server must be a text"),
    ],
)
def test_wrong_arguments_of_attach_are_named(dap, arguments, reason):
    dap.initialize()
    assert reason in dap.refused("attach", **arguments)


class Port:
    """An adapter that listens on a port."""

    def __init__(self, *options: str) -> None:
        self.process = subprocess.Popen(
            [GRAPHDBG, "dap", "--port", "0", *options], stdout=subprocess.PIPE, env=clean_environment()
        )
        assert self.process.stdout
        self.announced = json.loads(self.process.stdout.readline())

    def connect(self) -> DapClient:
        connection = socket.create_connection(("127.0.0.1", self.announced["port"]))
        return DapClient(connection.makefile("rb"), connection.makefile("wb"))


@pytest.fixture
def port() -> Iterator[Callable[..., Port]]:
    made: list[Port] = []

    def start(*options: str) -> Port:
        made.append(Port(*options))
        return made[-1]

    yield start
    for each in made:
        each.process.terminate()
        each.process.communicate()


def test_a_port_serves_one_session_for_each_connection(port):
    server = port()
    assert set(server.announced) == {"port"}
    first, second = server.connect(), server.connect()
    first.initialize()
    assert second.refused("threads") == "the first request must be initialize"
    first.request("disconnect")
    assert first.next() is None
    second.initialize()


def test_a_port_is_open_on_this_machine_only(port):
    server = port()
    listening = Path("/proc/net/tcp").read_text()
    rows = [row.split()[1] for row in listening.splitlines() if f":{server.announced['port']:04X}" in row.split()[1]]
    assert rows and all(row.startswith("0100007F:") for row in rows)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_other_users_are_refused_at_a_port(port):
    server = port()
    number = server.announced["port"]
    script = f"import socket; print(socket.create_connection(('127.0.0.1', {number})).recv(1))"
    other = ["setpriv", "--reuid=65534", "--clear-groups", "/usr/bin/python3", "-c", script]
    done = subprocess.run(other, capture_output=True, text=True, timeout=60)
    assert done.stdout == "b''\n", done.stderr
    server.connect().initialize()


@pytest.mark.parametrize("options", [["--token", "secret"], ["--token"]])
def test_a_token_is_needed_to_run_something(port, options):
    server = port(*options)
    client = server.connect()
    client.initialize()
    for wrong in ({}, {"token": "guess"}, {"token": 3}):
        assert "this is not the token" in client.refused("launch", command=["true"], **wrong)
    client.request("launch", command=["true"], noDebug=True, token=server.announced["token"])
    client.event("terminated")


# ---- random messages

SEED = 20261126
WORDS = ["initialize", "launch", "attach", "threads", "variables", "evaluate", "setBreakpoints", "stackTrace", "cancel",
         "source", "disassemble", "completions", "setExceptionBreakpoints", "gotoTargets", "restart", "readMemory",
         "dataBreakpointInfo", "breakpointLocations", "setDataBreakpoints", "configurationDone"]  # fmt: skip
NAMES = ["source", "breakpoints", "filters", "filterOptions", "expression", "frameId", "threadId", "text", "column",
         "variablesReference", "memoryReference", "count", "requestId", "name", "line", "path", "format"]  # fmt: skip


def value(chance: random.Random, depth: int = 0) -> object:
    kinds = [lambda: None, lambda: chance.randint(-3, 1 << 40), lambda: chance.random() * 1e9, lambda: True]
    kinds += [lambda: "".join(chance.choices("ab/:`[{@\u202e\U0001f600\x1b", k=6)), lambda: "\ud800"]
    if depth < 4:
        kinds += [lambda: [value(chance, depth + 1) for _ in range(chance.randint(0, 3))]]
        kinds += [lambda: {chance.choice(NAMES): value(chance, depth + 1) for _ in range(chance.randint(0, 4))}] * 3
    return chance.choice(kinds)()


def random_message(chance: random.Random, seq: int) -> bytes:
    sent: dict[str, object] = {"seq": seq, "type": "request", "command": chance.choice(WORDS)}
    sent["arguments"] = {name: value(chance) for name in chance.sample(NAMES, chance.randint(0, 6))}
    if chance.random() < 0.1:
        sent[chance.choice(["type", "command", "arguments"])] = value(chance)
    return json.dumps(sent).encode()


def test_dap_messages_of_random_shape_are_all_answered(dap):
    chance = random.Random(SEED)
    dap.initialize()
    numbers = range(10, 2010)
    for seq in numbers:
        dap.write(framed(random_message(chance, seq)))
    dap.write(framed(message(9, "threads")))
    waiting = {9, *numbers}
    while waiting:
        received = dap.next()
        assert received is not None
        if received["type"] == "response":
            waiting.discard(received["request_seq"])
            assert "Traceback" not in json.dumps(received)
            assert "graphdbg failed to answer" not in received.get("message", ""), received


def test_dap_messages_of_random_bytes_end_the_session_in_an_orderly_way():
    code = (
        "import io, random, sys\n"
        "from graphdbg.cli.dap.wire import MalformedMessageError, read_message\n"
        f"chance = random.Random({SEED})\n"
        'body = b\'{"seq":1,"type":"request","command":"threads"}\'\n'
        "good = b'Content-Length: %d\\r\\n\\r\\n%s' % (len(body), body)\n"
        "for _ in range(20000):\n"
        "    data = bytearray(good * 2)\n"
        "    for _ in range(chance.randint(0, 6)):\n"
        "        data[chance.randrange(len(data))] = chance.randrange(256)\n"
        "    stream = io.BytesIO(bytes(data[: chance.randint(0, len(data))]))\n"
        "    try:\n"
        "        while read_message(stream):\n"
        "            pass\n"
        "    except MalformedMessageError:\n"
        "        pass\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=clean_environment())
    assert ran.returncode == 0, ran.stderr


def test_frames_are_read_as_they_were_written():
    from io import BytesIO

    from graphdbg.cli.dap.wire import read_message, write_message

    stream = BytesIO()
    sent = {"seq": 1, "type": "event", "event": "output", "body": {"output": "é\U0001f600\ud800"}}
    write_message(stream, sent)
    stream.seek(0)
    assert read_frame(BytesIO(stream.getvalue())) == sent
    assert read_message(stream) == sent
