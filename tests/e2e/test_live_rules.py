"""Rules that are evaluated while real PyTorch jobs run, and what is done about their findings."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import graphdbg
import pytest
from conftest import GRAPHDBG, Finished, Server, clean_environment, wait_until
from graphdbg.cli.replay.bundle_file import BundleFile
from graphdbg.client import ApiError, InvalidRequestError, Job, LiveRule
from test_live_recording import SCRIPT as TRAINS
from test_live_recording import started

# The loss jumps in step 30.
JUMPS = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
for step in range(1, 41):
    optimizer.zero_grad()
    target = torch.full((8, 1), 30.0 if step >= 30 else 1.0)
    torch.nn.functional.mse_loss(model(torch.randn(8, 4)), target).backward()
    optimizer.step()
print("trained")
"""
LOSS = {"collections": ["losses"]}
# Two processes without any communication, whose weights diverge in step 5.
PARTS = """
import os, torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(1, 9):
    optimizer.zero_grad()
    data = torch.full((8, 4), 2.0 if step >= 5 and os.environ["RANK"] == "1" else 1.0)
    torch.nn.functional.mse_loss(model(data), torch.zeros(8, 1)).backward()
    optimizer.step()
"""


@pytest.fixture
def hook() -> Iterator[tuple[str, list[Any]]]:
    """A webhook that answers the first call with an error, and what it has received."""
    received: list[Any] = []
    calls = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            calls.append(body)
            if len(calls) > 1:
                received.append(body)
            self.send_response(204 if len(calls) > 1 else 503)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/hook", received
        server.shutdown()


def write_config(tmp_path: Path, rules: list[dict[str, Any]]) -> str:
    file = tmp_path / "job.json"
    # Every step, whatever it costs.
    file.write_text(json.dumps({"rules": rules, "record": {"overhead": 0}}))
    return str(file)


def afterwards(run: str, *options: str) -> list[dict[str, Any]]:
    """The findings of `graphdbg rules`."""
    command = [GRAPHDBG, "rules", run, "--json", *options]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, env=clean_environment())
    assert ended.returncode in (0, 1), ended.stderr
    findings: list[dict[str, Any]] = json.loads(ended.stdout)["findings"]
    return findings


def plain(findings: list[dict[str, Any]]) -> list[str]:
    """Findings in an order that does not depend on who found them, without the job."""
    return sorted(json.dumps({**each, "job": None}, sort_keys=True) for each in findings)


def test_findings_are_delivered_and_equal_those_of_the_recording(
    debug_run: Callable[..., Finished], tmp_path: Path, hook: tuple[str, list[Any]]
) -> None:
    address, received = hook
    kept = tmp_path / "kept.json"
    copy = [sys.executable, "-c", f"import sys; open({str(kept)!r}, 'w').write(sys.stdin.read())"]
    config = write_config(
        tmp_path,
        [
            {
                "name": "jumps",
                "select": LOSS,
                "when": "value > 100 * prev(value, 1)",
                "actions": ["log", {"webhook": address}, {"command": copy}],
            },
            {"name": "many", "when": "count > 0", "cool_down": 0},
            {"name": "slow", "series": ["rank"], "when": "step_seconds > 1000 * mean_before(step_seconds, 5)"},
        ],
    )
    (tmp_path / "train.py").write_text(JUMPS)
    run = debug_run(
        "--no-wait",
        "--record",
        str(tmp_path / "runs"),
        "--config",
        config,
        command=[sys.executable, str(tmp_path / "train.py")],
    )
    assert (run.code, run.stdout) == (0, "trained\n"), run.stderr
    findings = run.result["findings"]
    (jumps,) = [each for each in findings if each["rule"] == "jumps"]
    assert (jumps["step"], jumps["tensor"], jumps["rank"]) == (30, "forward/mse_loss:0", 0)
    assert "rule jumps fired in step 30 on rank 0 at forward/mse_loss:0: value > 100 * prev(value, 1)" in run.stderr
    assert received == [jumps]
    assert json.loads(kept.read_text()) == jumps

    recorded = run.result["run"]
    assert plain(findings) == plain(afterwards(recorded, "--config", config))
    lines = Path(recorded, "findings.jsonl").read_text().splitlines()
    assert plain([json.loads(line) for line in lines]) == plain(findings)


def test_a_rule_stops_the_job(debug_run: Callable[..., Finished], tmp_path: Path) -> None:
    config = write_config(tmp_path, [{"name": "fifth", "select": LOSS, "when": "step >= 5", "actions": ["stop"]}])
    (tmp_path / "train.py").write_text(TRAINS)
    run = debug_run(
        "--no-wait",
        "--record",
        str(tmp_path / "runs"),
        "--config",
        config,
        command=[sys.executable, str(tmp_path / "train.py"), str(tmp_path / "end")],
    )
    assert run.result["status"] == "terminated"
    assert [each["step"] for each in run.result["findings"]] == [5]


def test_rules_need_no_directory(debug_run: Callable[..., Finished], tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    config = write_config(
        tmp_path, [{"rule": "exploding_tensor"}, {"rule": "all_zero", "select": {"include": ["xyz"]}}]
    )
    (tmp_path / "train.py").write_text(JUMPS)
    run = debug_run("--no-wait", "--config", config, command=[sys.executable, str(tmp_path / "train.py")])
    assert run.code == 0, run.stderr
    assert run.result["findings"] == []
    assert Path(run.result["run"]).parent == tmp_path / "runs"
    assert "rule all_zero: nothing that it selects was recorded" in run.stderr


def test_training_goes_on_without_rules_that_the_server_refuses(
    debug_run: Callable[..., Finished], tmp_path: Path
) -> None:
    config = write_config(tmp_path, [{"when": "step > 1", "select": {"collections": ["nothing"]}}])
    (tmp_path / "train.py").write_text(JUMPS)
    command = [sys.executable, str(tmp_path / "train.py")]
    run = debug_run("--no-wait", "--record", str(tmp_path / "runs"), "--config", config, command=command)
    assert (run.code, run.result["findings"]) == (0, [])
    assert run.stderr.count("the rules are not evaluated: ") == 1 and "nothing" in run.stderr, run.stderr


def test_wrong_rules_are_refused_before_the_job_starts(debug_run: Callable[..., Finished], tmp_path: Path) -> None:
    for rules, expected in [
        ([{"when": "valu > 1"}], 'rules[0].when: column 1: unknown statistic "valu"'),
        ([{"rule": "all_zero"}], "rules[0]"),
        ([{"rule": "exploding_tensor"}] * 2, "rules[1].name: there is a rule 'exploding_tensor' already"),
    ]:
        run = debug_run("--config", write_config(tmp_path, rules), command=[sys.executable, "-c", "print('started')"])
        assert run.code == 2 and expected in run.stderr, run.stderr
        assert run.stdout == ""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "runs").mkdir()
    server = Server(tmp_path / "data", f"--runs={tmp_path / 'runs'}")
    yield server
    server.stop()


def started_with_every_step(server: Server, tmp_path: Path, start_job: Any, **variables: str) -> Job:
    """The script, of which a recording leaves out no step on a slow machine."""
    return started(server, tmp_path, start_job, GRAPHDBG_CONFIG=write_config(tmp_path, []), **variables)


@pytest.fixture
def job(server: Server, tmp_path: Path, start_job: Any) -> Job:
    return started_with_every_step(server, tmp_path, start_job)


def add_later(job: Job, *actions: Any) -> tuple[LiveRule, int]:
    """Adds a rule, and returns it and the step of its finding.

    The job is paused meanwhile, as actions do not follow a finding in a step that ended before the rule was added.
    """
    job.pause()
    step = job.wait_for_stop(timeout=60).step + 2
    rule = job.add_rule("later", f"step >= {step}", select=LOSS, actions=list(actions))
    job.continue_()
    job.wait_for_resume(timeout=60)
    return rule, step


def test_rules_are_added_to_a_job_that_runs(server: Server, job: Job, tmp_path: Path) -> None:
    with pytest.raises(ApiError) as nothing:
        job.add_rule("later", "step > 1")
    assert nothing.value.code == "not_recorded"
    assert (job.rules(), job.findings()) == ([], [])
    job.record(str(tmp_path / "elsewhere"))
    wait_until("steps are recorded", lambda: job.recording()[0].steps >= 1)
    with pytest.raises(ApiError) as elsewhere:
        job.add_rule("later", "step > 1")
    assert elsewhere.value.code == "run_not_here" and "elsewhere" in str(elsewhere.value)
    job.record(on=False)
    wait_until("the recording ends", lambda: job.recording()[0].state == "off")

    job.record(str(tmp_path / "runs"))
    wait_until("steps are recorded", lambda: job.recording()[0].steps >= 1)
    for name, when, field in [("a", "steps > 1", "when"), ("", "step > 1", "name")]:
        with pytest.raises(InvalidRequestError) as wrong:
            job.add_rule(name, when)
        assert wrong.value.field == f"rules[0].{field}"
    rule, later = add_later(job, "pause")
    assert (rule.name, rule.actions, rule.state) == ("later", ("pause",), "running")
    with pytest.raises(ApiError) as twice:
        job.add_rule("later", "step > 1")
    assert twice.value.code == "rule_exists"
    server.wait_for_state("train", "paused", pause_reason="user")
    (finding,) = job.findings()
    assert (finding.rule, finding.step, finding.tensor) == ("later", later, "forward/mse_loss:0")
    assert finding.values["step"] == later
    (rule,) = job.rules()
    assert rule.finding_count == 1 and rule.observations > 0
    assert b'graphdbg_findings_total{rule="later"} 1' in server.client.download("/metrics")
    assert finding.advice is not None and finding.advice.causes and finding.advice.next

    # A removed rule finds nothing more, and what it has found stays.
    job.remove_rule("later")
    assert job.rules() == [] and len(job.findings()) == 1
    with pytest.raises(ApiError) as gone:
        job.remove_rule("later")
    assert gone.value.code == "unknown_rule"
    # Its name is free again. What was recorded before is evaluated, too.
    first = int(server.client.get(f"/runs/{os.path.basename(job.recording()[0].directory or '')}")["first_step"])
    job.add_rule("later", "step > 0", select=LOSS)
    wait_until("the recording is evaluated", lambda: len(job.findings()) == 2)
    assert job.findings()[-1].step in (first, first + 1)
    job.continue_()
    (tmp_path / "end").touch()
    server.wait_for_state("train", "finished")
    wait_until("all is evaluated", lambda: all(each.state == "done" for each in job.rules()))


def test_more_is_recorded_for_some_steps_after_a_finding(job: Job, tmp_path: Path) -> None:
    # One of the two collections is recorded already, at a lower level.
    job.record(str(tmp_path / "runs"), collections=["losses", "weights"])
    wait_until("steps are recorded", lambda: job.recording()[0].steps >= 1)
    more = {"record": {"level": "tensors", "collections": ["weights", "inputs"], "steps": 3}}
    rule, later = add_later(job, more)
    assert rule.actions == (more,)
    directory = job.recording()[0].directory or ""

    def saved(tensor: str) -> list[int]:
        run = graphdbg.open_run(directory)
        return sorted(run.tensor(tensor).values()) if tensor in run.tensors() else []

    (finding,) = wait_until("the finding", job.findings)
    wait_until("more steps", lambda: job.refresh().step > finding.step + 40)
    (tmp_path / "end").touch()
    wait_until("the job ends", lambda: job.refresh().state == "finished")
    steps = saved("forward/0/weight:0")
    assert steps == list(range(steps[0], steps[0] + 3)) and steps[0] > later
    # The run is the same, and its other steps are as before.
    run = graphdbg.open_run(directory)
    inputs = run.collections()["inputs"].tensors[0]
    assert saved(inputs) == steps
    assert run.steps()[-1] > steps[-1]
    with pytest.raises(graphdbg.runs.NotRecorded, match="has no statistics at step"):
        run.tensor(inputs).statistics(steps[-1] + 1)


def test_the_op_of_a_finding_is_captured(server: Server, tmp_path: Path, start_job: Any) -> None:
    job = started_with_every_step(server, tmp_path, start_job, GRAPHDBG_CAPTURE_TO=str(tmp_path / "bundles"))
    job.record(str(tmp_path / "runs"))
    wait_until("steps are recorded", lambda: job.recording()[0].steps >= 1)
    add_later(job, "capture")
    (file,) = wait_until("a bundle", lambda: list(tmp_path.glob("bundles/*.graphdbg")))
    (tmp_path / "end").touch()
    server.wait_for_state("train", "finished")
    with BundleFile(file) as bundle:
        assert bundle.manifest["node"] == "forward/mse_loss"
        assert bundle.manifest["hit"]["condition"] == "rule 'later'"
        assert bundle.json("tape.json")["ops"][-1]["op"] == "aten::mse_loss"


def test_rules_outlive_the_server(tmp_path: Path, start_job: Any) -> None:
    (tmp_path / "runs").mkdir()
    first = Server(tmp_path / "data", f"--runs={tmp_path / 'runs'}")
    job = started_with_every_step(first, tmp_path, start_job)
    job.record(str(tmp_path / "runs"))
    wait_until("steps are recorded", lambda: job.recording()[0].steps >= 10)
    # It was added late: earlier findings are reported, and do not pause the job.
    late = job.add_rule("late", "step > 0", select=LOSS, actions=["pause"])
    assert late.act_from is not None and late.act_from > 10
    job.add_rule("nan", rule="exploding_tensor", params={"only_nan": True})
    wait_until("the finding", lambda: len(job.findings()) == 1)
    assert job.refresh().state == "running" and job.findings()[0].step < late.act_from
    before = [(each.name, each.when, each.actions, each.base, each.act_from) for each in job.rules()]
    assert before[1][1:4] == ("nan_count > 0", (), "exploding_tensor")
    first.process.kill()
    first.process.communicate()

    ports = [
        f"--{option}={first.addresses[name].rpartition(':')[2]}"
        for option, name in (("port", "http_address"), ("debugger-port", "debugger_address"))
    ]
    second = Server(tmp_path / "data", f"--runs={tmp_path / 'runs'}", *ports)
    try:
        second.wait_for_state("train", "running")
        job = graphdbg.connect(second.addresses["http_address"], data_dir=second.data_dir).job("train")
        rules = wait_until("the rules are back", lambda: [rule for rule in job.rules() if rule.observations > 20])
        assert [(each.name, each.when, each.actions, each.base, each.act_from) for each in rules] == before
        later = job.refresh().step + 20
        job.add_rule("later", f"step > {later}", select=LOSS)
        wait_until("another finding", lambda: len(job.findings()) > 1)
        assert [each.rule for each in job.findings()] == ["late", "later"]
        job.remove_rule("late")
        assert [each.name for each in job.rules()] == ["nan", "later"]
        (tmp_path / "end").touch()
        second.wait_for_state("train", "finished")
    finally:
        second.stop()


def test_rules_compare_ranks(server: Server, tmp_path: Path, start_job: Any) -> None:
    (tmp_path / "train.py").write_text(PARTS)
    for rank in ("0", "1"):
        environment = server.job_environment(
            GRAPHDBG_JOB="pair",
            GRAPHDBG_RANK=rank,
            GRAPHDBG_WORLD_SIZE="2",
            RANK=rank,
            GRAPHDBG_RECORD=str(tmp_path / "runs"),
        )
        start_job([sys.executable, str(tmp_path / "train.py")], environment)
    server.wait_for_state("pair", "paused", pause_reason="start")
    client = graphdbg.connect(server.addresses["http_address"], data_dir=server.data_dir)
    job = client.job("pair")
    wait_until("both ranks record", lambda: len([each for each in job.recording() if each.directory]) == 2)
    job.add_rule(
        "replicas",
        "hi - lo > 1e-6 * hi",
        select={"collections": ["weights"]},
        series=["tensor"],
        reduce={"hi": "max(l2)", "lo": "min(l2)"},
    )
    job.continue_()
    server.wait_for_state("pair", "finished")
    wait_until("all is evaluated", lambda: all(each.state == "done" for each in job.rules()))
    assert {(each.step, each.tensor, each.rank) for each in job.findings()} == {(5, "forward/weight:0", None)}
