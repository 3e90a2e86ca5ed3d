"""Trainings that graphdbg joins in the middle, and leaves again. The text runs in the process by itself."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import HOSTS, PACKAGE, Json, Server, clean_environment, marked_line, read_line, wait_until

# How often a program is joined and left; more by hand.
TIMES = int(os.environ.get("GRAPHDBG_JOIN_TIMES", "20"))
JOB = HOSTS / "joined.py"
Start = Callable[..., subprocess.Popen[str]]


class Debugger:
    """The side outside of the process: texts for it, and their answers."""

    def __init__(self, directory: Path, server: Server | None) -> None:
        self.directory = directory
        self._server = server
        self._texts = 0
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(f"\0joining-{os.getpid()}-{id(self)}")
        self._socket.settimeout(240)
        self._socket.listen(8)
        self.name = self._socket.getsockname()[1:].decode()
        self.signalled = directory / "signalled"
        self.signalled.write_text("")

    def close(self) -> None:
        self._socket.close()

    def text(self, verb: str, job: str = "joined", **environment: str) -> str:
        variables = {"GRAPHDBG_JOB": job, **environment}
        if self._server is not None:
            variables["GRAPHDBG_PORT"] = self._server.addresses["debugger_address"].rpartition(":")[2]
            variables["GRAPHDBG_TOKEN_FILE"] = str(self._server.data_dir / "agent_token")
        settings = json.dumps({"answer": self.name, "environment": variables})
        path = str(PACKAGE.parent)
        return f"import sys; sys.path.insert(0, {path!r}); import graphdbg._attach as a; a.{verb}({settings!r})"

    def file(self, text: str) -> str:
        self._texts += 1
        file = self.directory / f"text{self._texts}"
        file.write_text(f"exec({text!r}, {{}})")
        return str(file)

    def answer(self) -> Json:
        connection, _ = self._socket.accept()
        with connection, connection.makefile() as stream:
            answer: Json = json.loads(stream.readline())
        return answer

    def tell(self, process: subprocess.Popen[str], text: str) -> Json:
        """Has the text run in the process now."""
        self.signalled.write_text(text)
        process.send_signal(signal.SIGUSR1)
        return self.answer()

    def join(self, process: subprocess.Popen[str], **variables: str) -> None:
        """Joins the process, as soon as it is not busy."""
        answer = self.try_to_join(process, **variables)
        assert answer["state"] == "started", answer

    def try_to_join(self, process: subprocess.Popen[str], **variables: str) -> Json:
        """What the process answers, as soon as it is not busy."""
        return wait_until("an answer of the process", lambda: self._unless_busy(process, **variables))

    def _unless_busy(self, process: subprocess.Popen[str], **variables: str) -> Json | None:
        answer = self.tell(process, self.text("join", **variables))
        return answer if answer["state"] != "busy" else None


@pytest.fixture
def debugger(tmp_path: Path, server: Server) -> Iterator[Debugger]:
    debugger = Debugger(tmp_path, server)
    yield debugger
    debugger.close()


def is_left(answer: Json) -> bool:
    """Whether nothing stays."""
    return (answer["state"], answer["stays"]) == ("detached", [])


def environment(**extra: str) -> dict[str, str]:
    return clean_environment(OMP_NUM_THREADS="1", **extra)


def command(*options: str) -> list[str]:
    return [sys.executable, str(JOB), *options]


def losses_of(output: str) -> list[str]:
    return re.findall(r"^step .*$", output, re.MULTILINE)


def untouched(steps: int, *options: str) -> list[str]:
    run = subprocess.run(
        command(f"--steps={steps}", *options), env=environment(), capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    return losses_of(run.stdout)


def end(process: subprocess.Popen[str], stop: Path) -> list[str]:
    """Ends the job, and returns its losses."""
    stop.touch()
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "Error" not in errors and "graphdbg:" not in errors, errors
    return losses_of(output)


@pytest.mark.long(but=["backward", "between"])
@pytest.mark.parametrize("moment", ["forward", "backward", "optimizer", "loader", "between", "gc"])
def test_joins_at_any_moment_and_leaves_the_losses_alone(
    moment: str, debugger: Debugger, server: Server, start_job: Start, tmp_path: Path
) -> None:
    text = debugger.file(debugger.text("join"))
    at = f"--at=30:{moment}:{text}"
    process = start_job(command(at, f"--signal={debugger.signalled}", f"--stop={tmp_path / 'stop'}"), environment())
    started = debugger.answer()
    assert started["state"] == "started", started
    server.wait_for_state("joined", "running")
    wait_until("its ops", lambda: "backward/blocks/1/linear/mm" in names_of(server, "joined"))
    assert is_left(debugger.tell(process, debugger.text("detach")))
    server.wait_for_state("joined", "finished")
    joined = end(process, tmp_path / "stop")
    assert joined == untouched(len(joined))


def names_of(server: Server, job: str) -> list[str]:
    found = server.client.get(f"/jobs/{job}/graph/search?q=&limit=1000")["nodes"]
    return [each["name"] for each in found]


def test_is_busy_while_the_program_imports(debugger: Debugger, start_job: Start, tmp_path: Path) -> None:
    text = debugger.file(debugger.text("join"))
    process = start_job(command(f"--at=20:import:{text}", "--steps=40"), environment())
    answer = debugger.answer()
    assert answer == {"state": "busy", "message": "the program is importing a module"}
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    assert losses_of(output) == untouched(40)


def test_names_and_lines_are_those_of_a_run_under_graphdbg(
    debugger: Debugger, server: Server, start_job: Start, tmp_path: Path
) -> None:
    watch = {"condition": {"id": "max_gt", "params": {"value": -1e9}}, "pause": "none", "once": False}
    process = start_job(
        command(f"--signal={debugger.signalled}", f"--stop={tmp_path / 'stop'}"), environment(PYTHONUNBUFFERED="1")
    )
    assert read_line(process) == "ready\n"
    debugger.join(process)
    whole = start_job(
        command(f"--stop={tmp_path / 'stop'}"),
        {**server.job_environment(GRAPHDBG_JOB="whole", GRAPHDBG_WAIT="0"), "PYTHONPATH": inject_path()},
    )
    for job in ("joined", "whole"):
        server.wait_for_state(job, "running")
        server.client.post(f"/jobs/{job}/watchpoints", watch)
        wait_until(
            f"hits of {job}", lambda job=job: len(server.client.get(f"/jobs/{job}/hits?limit=1000")["hits"]) > 300
        )
    joined, whole_lines = lines_of(server, "joined"), lines_of(server, "whole")
    assert {"forward/log", "backward/blocks/0/norm/native_layer_norm_backward", "optimizer/Descent/add_"} <= set(joined)
    # The data loader draws a seed now and then; and only one has seen what happens at the start.
    assert set(joined) - set(whole_lines) <= {"forward/random_"}
    assert all(joined[name] == line for name, line in whole_lines.items() if name in joined)
    end(process, tmp_path / "stop")
    whole.communicate(timeout=60)


def inject_path() -> str:
    return os.pathsep.join(filter(None, [str(PACKAGE / "_inject"), os.environ.get("PYTHONPATH", "")]))


def lines_of(server: Server, job: str) -> dict[str, tuple[str, int]]:
    hits = server.client.get(f"/jobs/{job}/hits?limit=1000")["hits"]
    return {each["node"]: (each["source"]["file"], each["source"]["line"]) for each in hits if each["source"]}


def test_stops_at_the_first_nan_and_leaves_a_paused_program(
    debugger: Debugger, server: Server, start_job: Start, tmp_path: Path
) -> None:
    options = ["--nan=400"]
    process = start_job(
        command(*options, f"--signal={debugger.signalled}", f"--stop={tmp_path / 'stop'}"), environment()
    )
    assert read_line(process) == "ready\n"
    debugger.join(process)
    server.wait_for_state("joined", "running")
    server.client.post("/jobs/joined/watchpoints", {"condition": {"id": "nan", "params": {}}, "pause": "node"})
    server.wait_for_state("joined", "paused", pause_reason="watchpoint")
    first = server.client.get("/jobs/joined/hits")["hits"][0]
    assert (first["node"], first["origin"]) == ("forward/log", "origin")
    assert first["source"] == {"file": str(JOB), "line": marked_line(JOB, "# loss"), **first["source"]}
    assert is_left(debugger.tell(process, debugger.text("detach")))
    debugger.join(process, job="again")
    server.wait_for_state("again", "running")
    assert debugger.tell(process, debugger.text("join"))["state"] == "already"
    joined = end(process, tmp_path / "stop")
    assert joined == untouched(len(joined), *options)


def test_leaves_no_trace_however_often_it_joins(debugger: Debugger, tmp_path: Path) -> None:
    name = f"joined-often-{os.getpid()}"
    texts = [debugger.text(verb).replace(debugger.name, name) for verb in ("join", "detach")]
    run = subprocess.run(
        [sys.executable, str(HOSTS / "joined_often.py"), str(TIMES), *texts, name],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300 + 10 * TIMES,
    )
    assert (run.returncode, run.stderr) == (0, "")
    seen = json.loads(run.stdout)
    assert [answer.partition(";")[0] for answer in seen["answers"]] == ["attached", "detached"] * TIMES
    assert "thread" not in str(seen["answers"])
    assert seen["attributes"] == {}
    assert seen["threads"][0] == seen["threads"][1]
    before, after = seen["descriptors"]
    assert before == after
    # The libraries come with the first times. Later ones leave nothing.
    _, _, first, *_, last = seen["kilobytes"]
    assert last - first < 2_000


def start_and_join(debugger: Debugger, start_job: Start, *options: str, **variables: str) -> subprocess.Popen[str]:
    process = start_job(command(f"--signal={debugger.signalled}", *options), environment())
    assert read_line(process) == "ready\n"
    debugger.join(process, **variables)
    return process


@pytest.mark.long
def test_compiled_code_stays_compiled_and_is_one_node(
    debugger: Debugger, server: Server, start_job: Start, tmp_path: Path
) -> None:
    at = f"--at=5:between:{debugger.file(debugger.text('join'))}"
    process = start_job(
        command("--compile", at, f"--signal={debugger.signalled}", f"--stop={tmp_path / 'stop'}"), environment()
    )
    assert debugger.answer()["state"] == "started"
    wait_until("its region", lambda: "forward/compiled_region" in names_of(server, "joined"))
    assert is_left(debugger.tell(process, debugger.text("detach")))
    joined = end(process, tmp_path / "stop")
    assert joined == untouched(len(joined), "--compile")


def test_a_program_without_optimizer_is_followed_from_a_call_of_its_model_on(
    debugger: Debugger, server: Server, start_job: Start, tmp_path: Path
) -> None:
    process = start_and_join(debugger, start_job, "--inference", f"--stop={tmp_path / 'stop'}")
    wait_until("its ops", lambda: "forward/blocks/1/linear/addmm" in names_of(server, "joined"))
    assert is_left(debugger.tell(process, debugger.text("detach")))
    joined = end(process, tmp_path / "stop")
    assert joined == untouched(len(joined), "--inference")


def test_a_paused_program_goes_on_undebugged_when_its_server_is_gone(
    debugger: Debugger, server: Server, start_job: Start, tmp_path: Path
) -> None:
    process = start_and_join(debugger, start_job, f"--stop={tmp_path / 'stop'}", GRAPHDBG_GRACE="1")
    server.wait_for_state("joined", "running")
    server.control("joined", "pause")
    server.wait_for_state("joined", "paused")
    server.process.kill()
    server.process.wait()

    probe = (
        "import graphdbg._attach as a, graphdbg._attach.answer as b; "
        f"b.Answer({debugger.name!r}).send('probe', str(a._session.is_over))"
    )
    wait_until("the process left", lambda: debugger.tell(process, probe)["message"] == "True")
    (tmp_path / "stop").touch()
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "graphdbg: lost the server; training continues without debugging" in errors
    joined = losses_of(output)
    assert joined == untouched(len(joined))


def test_nothing_is_changed_without_a_server(start_job: Start, tmp_path: Path) -> None:
    debugger = Debugger(tmp_path, None)
    process = start_job(command(f"--signal={debugger.signalled}", f"--stop={tmp_path / 'stop'}"), environment())
    assert read_line(process) == "ready\n"
    nobody = {"GRAPHDBG_PORT": "1", "GRAPHDBG_CONNECT_TIMEOUT": "0.5"}
    answer = debugger.try_to_join(process, **nobody)
    assert (answer["state"], "Traceback" in answer["traceback"]) == ("failed", True)
    assert debugger.tell(process, debugger.text("detach"))["message"] == "graphdbg has not joined this process"
    (tmp_path / "stop").touch()
    output, _ = process.communicate(timeout=60)
    joined = losses_of(output)
    assert joined == untouched(len(joined))
    debugger.close()


def test_what_the_program_has_wrapped_stays_and_is_named(
    debugger: Debugger, server: Server, start_job: Start, tmp_path: Path
) -> None:
    process = start_and_join(debugger, start_job, f"--stop={tmp_path / 'stop'}")
    server.wait_for_state("joined", "running")
    wait_until("its ops", lambda: "forward/log" in names_of(server, "joined"))
    wrap = (
        "import torch; call = torch.nn.Module.__call__; "
        "torch.nn.Module.__call__ = lambda self, *args, **kwargs: call(self, *args, **kwargs)"
    )
    answer = debugger.tell(process, f"exec({wrap!r}, {{}}); {debugger.text('detach')}")
    assert "torch.nn.Module.__call__" in answer["stays"]
    debugger.join(process, job="again")
    wait_until("its ops again", lambda: "forward/blocks/1/linear/addmm" in names_of(server, "again"))
    joined = end(process, tmp_path / "stop")
    assert joined == untouched(len(joined))


@pytest.mark.long
def test_ranks_are_joined_inside_a_collective(debugger: Debugger, server: Server, start_job: Start) -> None:
    text = debugger.file(debugger.text("join"))
    ranks = []
    for rank in range(2):
        place = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port(ranks))}
        ranks.append(start_job(command("--ranks", "--steps=400", f"--at=15:collective:{text}"), environment(**place)))
    assert [debugger.answer()["state"] for _ in ranks] == ["started", "started"]
    wait_until("both ranks", lambda: (server.job("joined") or {"ranks": []})["world_size"] == 2)
    wait_until("their ops", lambda: "forward/blocks/1/linear/addmm" in names_of(server, "joined"))
    outputs = [each.communicate(timeout=120)[0] for each in ranks]
    assert [each.returncode for each in ranks] == [0, 0]
    assert len(losses_of(outputs[0])) == 400
    assert losses_of(outputs[0]) == losses_of(outputs[1])


_port = 0


def free_port(started: list[subprocess.Popen[str]]) -> int:
    """The same for all ranks."""
    global _port
    if not started:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            _port = listener.getsockname()[1]
    return _port
