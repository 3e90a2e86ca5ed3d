"""`graphdbg dbg` debugs real jobs, recorded runs and captured hits by files of commands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import GRAPHDBG, HOSTS, Server, clean_environment, losses, wait_until

DIGITS = HOSTS / "digits_cnn.py"
# In DigitsNet.forward.
CONV2, FC1, FC2 = (
    next(n for n, text in enumerate(DIGITS.read_text().splitlines(), 1) if part in text)
    for part in ("self.conv2(x)", "self.fc1(x", "return self.fc2")
)
JOB = [sys.executable, str(DIGITS), "--steps=8"]


@pytest.fixture
def dbg(tmp_path: Path):
    """Runs a session by the lines of a file; returns its process with its output."""

    def run(lines: str, *target: str, home: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        file = tmp_path / "lines.dbg"
        file.write_text(lines)
        return subprocess.run(
            [GRAPHDBG, "dbg", "--batch", "-x", str(file), *target],
            env=clean_environment(HOME=str(home or tmp_path), **environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run


def shows(text: str, *parts: str) -> None:
    """The parts are in the text, in this order."""
    at = 0
    for part in parts:
        found = text.find(part, at)
        assert found >= 0, f"{part!r} is missing after:\n{text[:at]}\n--- in:\n{text[at:]}"
        at = found + len(part)


def test_a_session_from_a_line_to_the_end(dbg) -> None:
    done = dbg(
        f"""
        # The op is not known yet.
        break digits_cnn.py:{FC1}
        tbreak forward/log
        info breakpoints
        continue
        backtrace
        print $
        print weight
        up
        print fc2/bias
        finish
        continue
        print in0.zero_count
        delete 1
        step 2
        info breakpoints
        continue
        """,
        "--",
        *JOB,
    )
    shows(
        done.stdout,
        "digits_cnn: waits before the first step",
        f"Breakpoint 1: digits_cnn.py:{FC1}",
        "Temporary breakpoint 2: forward/log",
        "Breakpoint 1, forward/view, step 1",
        "*#0  forward/view at ",
        f"digits_cnn.py:{FC1} in DigitsNet.forward",
        "#1  forward at ",
        "#2  main at ",
        "#3  <module> at ",
    )
    assert done.returncode == 1, "weight is not a name in the scope forward"
    assert "no node is called weight" in done.stderr


def test_frames_values_and_moves_at_nodes(dbg) -> None:
    done = dbg(
        f"""
        break forward/fc1/addmm
        continue
        backtrace
        print $
        print weight.abs_max - forward/fc1/weight.abs_max
        print max(abs($)) > 1e3
        x/3x bias
        whatis in0[0:2]
        info inputs
        info outputs
        next
        frame
        finish
        stepi
        info frame
        rank apply all print $.count
        ptype forward/fc1
        info line digits_cnn.py:{FC1}
        list digits_cnn.py:{FC1}
        step 2
        history forward/fc1/weight
        compare forward/fc1/weight
        statistics conv1/weight
        histogram fc2/weight
        until forward/fc2/addmm
        until digits_cnn.py:{CONV2}
        kill
        """,
        "--",
        *JOB,
    )
    assert done.returncode == 0, done.stderr
    shows(
        done.stdout,
        "Breakpoint 1, forward/fc1/addmm, step 1",
        "*#0  forward/fc1/addmm at ",
        f"digits_cnn.py:{FC1} in DigitsNet.forward",
        "#1  forward/fc1 at ",
        "in Linear.forward (library)",
        f"#2  forward at {os.path.relpath(DIGITS) if DIGITS.is_relative_to(Path.cwd()) else DIGITS}:{FC1}",
        "#3  main at ",
        "forward/fc1/addmm:0 = float32[64, 64]: min",
        "weight.abs_max - forward/fc1/weight.abs_max = 0",
        "max(abs($)) > 1e3 = false",
        "[0]  0x",
        "float32[2]",
        "in0  forward/fc1/bias:0",
        "out0  forward/fc1/addmm:0",
        # next: another line, outside the scope fc1.
        "after forward/fc2/t, step 1",
        # finish: outside of forward/fc2.
        "after forward/index, step 1",
        "after forward/_softmax",
        "rank 0:",
        "$.count = 640",
        "fc1: Linear",
        "weight: float32[64, 512] (parameter)",
        "a breakpoint stops at those with a star",
        "self.fc1(x.flatten(1))",
        "step  min",
        "not close",
        "statistic",
        "after forward/fc2/addmm",
        "Breakpoint 2, forward/conv2/convolution, step 3",
        "[the job has been terminated",
    )


def test_conditions_log_points_and_commands(dbg, tmp_path: Path) -> None:
    saved = tmp_path / "saved.dbg"
    done = dbg(
        f"""
        dprintf digits_cnn.py:{FC2},"step {{step}} logits {{abs_max}}"
        break digits_cnn.py:{FC1} if abs_max > 1e9
        watch abs_max >= 0 on forward/fc2/addmm
        commands
        echo at the logits
        print $.nan_count
        end
        ignore 3 1
        continue
        condition 3 abs_max < 0
        info breakpoints
        save breakpoints {saved}
        disable 2
        rbreak fc2/.*mm$
        delete 1 2-3
        continue
        info hits
        delete
        source {saved}
        info breakpoints
        kill
        """,
        "--",
        *JOB,
    )
    assert done.returncode == 0, done.stderr
    shows(
        done.stdout,
        f"Log point 1: digits_cnn.py:{FC2}",
        "Watchpoint 3: abs_max >= 0 on forward/fc2/addmm",
        # The first step passes.
        "step 1 logits ",
        "Watchpoint 3, abs_max >= 0 at forward/fc2/addmm:0, step 2",
        "at the logits",
        "$.nan_count = 0",
        "abs_max < 0",
        "Breakpoint 4: fc2/.*mm$",
        "Breakpoint 4, ",
        "Watchpoint 7: abs_max >= 0 on forward/fc2/addmm",
    )
    # In the forward pass only: backward ops have the same line.
    assert len(re.findall(r"step 1 logits", done.stdout)) <= 2


def test_errors_name_the_thing_and_end_a_batch(dbg) -> None:
    done = dbg("step\nprint forward/fc1/adddmm\necho not reached\n", "--", *JOB)
    assert done.returncode == 1
    assert "no node is called forward/fc1/adddmm; did you mean forward/fc1/addmm?" in done.stderr
    assert "lines.dbg:2" in done.stderr
    assert "not reached" not in done.stdout
    assert "Traceback" not in done.stderr


def test_without_server_or_job_the_exit_code_is_3(dbg, tmp_path: Path) -> None:
    empty = {"XDG_DATA_HOME": str(tmp_path / "none"), "TMPDIR": str(tmp_path)}
    done = dbg("help", **empty)
    assert done.returncode == 3
    assert "start the job with: graphdbg dbg -- python train.py" in done.stderr
    done = dbg("help", "--", sys.executable, "-c", "print('no training')", **empty)
    assert done.returncode == 3
    assert "before it could be debugged" in done.stderr


def test_lines_of_a_pipe_are_echoed_and_an_empty_one_repeats_moves_only(tmp_path: Path) -> None:
    done = subprocess.run(
        [GRAPHDBG, "dbg", "--", *JOB],
        input="step\n\nbreak forward/log\n\ninfo breakpoints\nqui\n",
        env=clean_environment(HOME=str(tmp_path)),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    shows(done.stdout, "(graphdbg) step", "at the end of step 1", "at the end of step 2", "Breakpoint 1: forward/log")
    assert "Breakpoint 2" not in done.stdout


def test_only_the_home_directory_has_a_file_of_first_commands(dbg, tmp_path: Path) -> None:
    home, here = tmp_path / "home", tmp_path / "here"
    for place, text in ((home, "echo mine\n"), (here, "echo of somebody\nshell touch ran\n")):
        place.mkdir()
        (place / ".graphdbgrc").write_text(text)
    before = Path.cwd()
    os.chdir(here)
    try:
        done = dbg("kill", "--", *JOB, home=home)
    finally:
        os.chdir(before)
    assert done.returncode == 0, done.stderr
    assert "mine" in done.stdout
    assert "of somebody" not in done.stdout
    assert not (here / "ran").exists()


@pytest.fixture
def job_of_a_server(server: Server, start_job) -> Iterator[subprocess.Popen[str]]:
    process = start_job([sys.executable, str(DIGITS), "--steps=30"], server.job_environment(GRAPHDBG_JOB="digits"))
    server.wait_for_state("digits", "paused")
    yield process


@pytest.fixture
def address(server: Server) -> tuple[str, ...]:
    """The options that name the server."""
    return "--server", server.addresses["http_address"], "--token-file", str(server.data_dir / "token")


def test_errors_name_what_is_wrong(dbg, address: tuple[str, ...], job_of_a_server) -> None:
    for line, problem in (
        ("reverse-stepi", "a live job cannot go back"),
        ("watch nann", "there is no condition nann; did you mean nan?"),
        ("br", "the job stands at no node"),
        ("wat", ""),
        ("s 0", "less than 1"),
        ("foo", 'there is no command "foo"'),
        ("print $", "it stands at none"),
        ("replay", "this needs a hit"),
        ("delete 7", "there is no breakpoint 7; there are: none"),
    ):
        refused = dbg(line, *address, "digits")
        assert refused.returncode == 1, line
        assert problem in refused.stderr, refused.stderr


def test_leaving_removes_own_watchpoints_only_and_changes_no_loss(
    dbg, server: Server, address: tuple[str, ...], job_of_a_server
) -> None:
    others = {"condition": {"id": "nan", "params": {}}, "pause": "none"}
    server.client.post("/jobs/digits/watchpoints", others)
    looked = dbg("info job\nbreak forward/log\ninfo breakpoints", *address, "digits")
    assert looked.returncode == 0, looked.stderr
    assert [each["id"] for each in server.client.get("/jobs/digits/watchpoints")["watchpoints"]] == [1]
    assert server.job("digits")["state"] == "paused", "a session that only looks leaves the job as it is"
    moved = dbg("break forward/log\ncontinue\nprint $.count\ndetach", *address, "digits")
    assert moved.returncode == 0, moved.stderr
    shows(moved.stdout, "Breakpoint 1, forward/log, step 1", "$.count = 640", "detached")
    server.wait_for_state("digits", "finished")
    assert [each["id"] for each in server.client.get("/jobs/digits/watchpoints")["watchpoints"]] == [1]
    output = job_of_a_server.communicate(timeout=60)[0]
    plain = subprocess.run(
        [sys.executable, str(DIGITS), "--steps=30"],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert losses(output) == losses(plain.stdout)


def test_a_stop_by_somebody_else_says_by_whom(server: Server, start_job) -> None:
    from graphdbg.cli.debugger import Event, attach

    start_job([sys.executable, str(DIGITS), "--steps=100000"], server.job_environment(GRAPHDBG_JOB="digits"))
    server.wait_for_state("digits", "paused")
    session = attach(server.client, "digits")
    told: list[Event] = []
    session.subscribe(told.append)
    try:
        server.control("digits", "step", steps=2)
        stop = wait_until("a stop", lambda: next((each.stop for each in told if each.kind == "stopped"), None))
        assert (stop.reason, stop.step) == ("step", 2)
        assert "moved by" in stop.description
        assert session.wait(10) == stop
        session.continue_()
        assert session.wait(0.2) is None
        server.control("digits", "pause")
        assert "paused by" in session.wait(60).description
        session.terminate()
        assert session.wait(60).has_ended
    finally:
        session.close()


@pytest.mark.long
def test_two_ranks(dbg) -> None:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = dbg(
        """
        break forward/0/addmm
        continue
        rank 0
        backtrace
        delete
        step
        rank 1
        stepi
        info ranks
        print forward/0/weight@rank0 - forward/0/weight
        compare forward/0/weight forward/0/weight@rank0
        rank apply all print forward/0/weight.count
        step
        info ranks
        kill
        """,
        "--",
        *launcher,
        str(HOSTS / "digits_ddp.py"),
        "--steps=50",
        OMP_NUM_THREADS="1",
    )
    assert done.returncode == 0, done.stderr
    shows(
        done.stdout,
        "Breakpoint 1, forward/0/addmm, step 1",
        "rank 0: ",
        "*#0  forward/0/addmm",
        "#1  forward/0 at ",
        "Linear.forward (library)",
        "#2  forward at ",
        "Sequential.forward (library)",
        "#3  main at ",
        # Which step depends on where the other rank was when the first one stopped.
        "at the end of step ",
        "after forward/randint, step ",
        "*     1  paused ",
        "  forward/randint ",
        "float32[32, 64]: min 0, max 0, mean 0",
        "close",
        "rank 0:",
        "forward/0/weight.count = 2048",
        "rank 1:",
        "forward/0/weight.count = 2048",
        "at the end of step ",
    )


def test_a_recorded_run_moves_both_ways(dbg, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    # No step is left out, however slow this machine is.
    config = tmp_path / "job.yaml"
    config.write_text("record: {overhead: 0}\n")
    recorded = subprocess.run(
        [GRAPHDBG, "run", "--no-wait", "--config", str(config), "--record", str(runs), "--", *JOB],
        env=clean_environment(HOME=str(tmp_path)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert recorded.returncode == 0, recorded.stderr
    (run,) = runs.iterdir()
    done = dbg(
        f"""
        stepi
        step 3
        reverse-step
        info job
        until forward/fc2/addmm
        print $.count
        history $
        reverse-stepi
        break digits_cnn.py:{FC2}
        reverse-continue
        continue
        delete
        watch abs_max >= 0 on forward/fc2/addmm
        reverse-continue
        reverse-continue
        reverse-continue
        continue
        backtrace
        finish
        reverse-finish
        next
        reverse-next
        delete
        dprintf forward/fc2/addmm,"{{node}} in {{step}}"
        dprintf digits_cnn.py:{FC1},"step {{step}}: {{count}}"
        step 2
        info breakpoints
        delete
        continue
        reverse-continue
        """,
        str(run),
    )
    assert done.returncode == 0, done.stderr
    shows(
        done.stdout,
        "at the begin of the recording",
        "step 1",
        "at the end of step 3",
        "at the end of step 2",
        "recorded",
        "after forward/fc2/addmm, step 3",
        "$.count = 640",
        "step  min",
        # Back over the line of step 3, at which it has just been, to that of step 2; then to step 3 again.
        "Breakpoint 1: ",
        "Breakpoint 1, forward/fc2/addmm, step 2",
        "Breakpoint 1, forward/fc2/addmm, step 3",
        "Watchpoint 2: ",
        "Watchpoint 2, abs_max >= 0 at forward/fc2/addmm:0, step 2",
        "Watchpoint 2, abs_max >= 0 at forward/fc2/addmm:0, step 1",
        "at the begin of the recording",
        "Watchpoint 2, abs_max >= 0 at forward/fc2/addmm:0, step 1",
        "*#0  forward/fc2/addmm",
        "Log point 3: forward/fc2/addmm",
        f"digits_cnn.py:{FC2}: forward/fc2/addmm in 2",
        "step 8, where the recording ends",
        "at the begin of the recording",
    )
    end = dbg("continue\ncontinue", str(run))
    assert end.returncode == 1
    assert "the recording ends here" in end.stderr
    live = dbg("capture", str(run))
    assert "only hits of a live job can be captured" in live.stderr


@pytest.mark.long
def test_a_bundle_is_replayed_op_by_op(dbg, tmp_path: Path) -> None:
    bundle = tmp_path / "hit.graphdbg"
    made = dbg(
        f"""
        watch abs_max >= 0 on forward/log
        continue
        whatif float64
        capture {bundle}
        kill
        """,
        "--",
        *JOB,
    )
    assert made.returncode == 0, made.stderr
    assert re.search(r"in float64 +does not fail +0 of 640 elements are not finite", made.stdout), made.stdout
    done = dbg(
        """
        backtrace
        print $.count
        reverse-stepi
        print $
        reverse-continue
        break forward/_softmax
        stepi
        continue
        replay
        replay float64
        info hits
        info job
        """,
        str(bundle),
    )
    assert done.returncode == 0, done.stderr
    shows(
        done.stdout,
        "expression at forward/log:0, step 1, where the bundle ends",
        "*#0  forward/log at ",
        "in cross_entropy",
        "$.count = 640",
        "before the first captured op",
        "same bits",
        "bundle",
    )
    checked = dbg(
        """
        reverse-continue
        watch inf
        break forward/log if abs_max > 1e9 || max <= 0 && count == 640
        dprintf forward/_softmax,"{node} has {zero_count} zeros and {count} elements"
        info breakpoints
        continue
        info breakpoints
        """,
        str(bundle),
    )
    assert checked.returncode == 0, checked.stderr
    shows(
        checked.stdout,
        "Watchpoint 1: inf, ",
        "Breakpoint 2: forward/log if abs_max > 1e9 || max <= 0 && count == 640, 1 node",
        "forward/_softmax has 0 zeros and 640 elements",
        "Breakpoint 2, ",
        "log        y      1  forward/_softmax",
    )
    for line, problem in (
        ("watch nope > 3", "no node is called nope"),
        ("watch nope > 3 && max > 1", "there is no statistic nope"),
        ("watch abs_max", "is no condition of a bundle"),
        ("watch tensor_too_large", "is no condition of a bundle"),
        ("break forward/log if abs_max[0] > 1", "these have no slices"),
    ):
        refused = dbg(line, str(bundle))
        assert refused.returncode == 1
        assert problem in refused.stderr
    broken = tmp_path / "broken.graphdbg"
    broken.write_bytes(b"PK nothing")
    done = dbg("help", str(broken))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_names_of_a_job_cannot_control_the_terminal(dbg) -> None:
    program = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.add_module("fc\\x1b[2J", torch.nn.Linear(2, 2))
    def forward(self, x):
        return getattr(self, "fc\\x1b[2J")(x)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
"""
    done = dbg(
        "step\ninfo scope forward\nptype forward\nrbreak addmm\ncontinue\nbt", "--", sys.executable, "-c", program
    )
    assert "\x1b" not in done.stdout + done.stderr
    assert "⟨U+001B⟩" in done.stdout
