"""`graphdbg.run_local` with a function, which runs in the caller's own process."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from conftest import clean_environment

pytest.importorskip("websockets")

PRELUDE = """
import json, threading
import graphdbg, torch
from torch.utils.data import DataLoader

def train(bad_step=0, batches=8, model=None):
    model = model or torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, x in enumerate(DataLoader(torch.ones(4 * batches, 4), batch_size=4), 1):
        loss = model(x / (step != bad_step)).square().mean()  # first bad value
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return step
"""


@pytest.fixture
def run(tmp_path):
    """Runs code in a process of its own, after the prelude. Returns the object that it prints as JSON, and stderr."""

    def run(code: str) -> tuple[dict, str]:
        script = tmp_path / "program.py"
        script.write_text(PRELUDE + textwrap.dedent(code))
        done = subprocess.run(
            [sys.executable, str(script)],
            # Only the server of this test is found.
            env=clean_environment(
                XDG_STATE_HOME=str(tmp_path / "state"), XDG_DATA_HOME=str(tmp_path / "data"), TMPDIR=str(tmp_path)
            ),
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1]), done.stderr

    return run


def test_a_hit_ends_the_function_and_keeps_its_tensor(run):
    said, stderr = run("""
        result = graphdbg.run_local(train, 3, break_on="nan,inf")
        hit = result.hits[0]
        print(json.dumps({
            "result": result, "line": hit.source.line, "shape": hit.shape, "error": type(result.error).__name__,
            "bad": int((~torch.isfinite(torch.from_numpy(hit.tensor()))).sum()),
        }))
    """)
    result = said["result"]
    assert (result["status"], result["exit_code"], result["debugged"]) == ("terminated", 143, True)
    assert result["exception"] is None and said["error"] == "Terminated"
    assert said["shape"] == [4, 4] and said["bad"] == 16
    assert result["hits"][0]["step"] == 3
    # The function ends where the hit is, and not at the end of the step.
    conditions = [hit["condition"] for hit in result["hits"]]
    assert conditions[:3] == ["inf", "inf", "nan"] and {hit["step"] for hit in result["hits"]} == {3}
    assert "Exception ignored" not in stderr
    lines = PRELUDE.splitlines()
    assert lines[said["line"] - 1].endswith("# first bad value")
    assert set(result) >= {"stages", "run", "metrics", "artifacts", "findings", "wall_seconds", "steps"}


def test_the_result_has_the_scalars_that_the_function_saved(run):
    said, _ = run("""
        def train_and_save():
            train()
            graphdbg.save_scalar("accuracy", 0.25)
            graphdbg.save_scalar("accuracy", 0.75)
            graphdbg.save_scalar("ratio", float("nan"))

        print(json.dumps(graphdbg.run_local(train_and_save, break_on="nan")))
    """)
    assert said["metrics"] == {"accuracy": 0.75, "ratio": "NaN"}


def test_functions_are_debugged_one_after_the_other_as_if_each_were_alone(run):
    said, _ = run("""
        first = graphdbg.run_local(train, 3, break_on="nan,inf")
        undebugged = train(2)
        second = graphdbg.run_local(train, 5, break_on="nan,inf")
        third = graphdbg.run_local(train)
        print(json.dumps({
            "nodes": [result.hits[0].node for result in (first, second)],
            "steps": [result.hits[0].step for result in (first, second)],
            "third": third, "value": third.value, "undebugged": undebugged,
        }))
    """)
    assert said["nodes"][0] == said["nodes"][1]
    assert said["steps"] == [3, 5]
    assert (said["third"]["status"], said["third"]["steps"], said["value"], said["undebugged"]) == ("finished", 8, 8, 8)
    assert said["third"]["hits"] == []


def test_a_model_and_an_optimizer_that_exist_already_are_followed(run):
    said, _ = run("""
        model = torch.nn.Sequential(torch.nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        def evaluate_then_train():
            with torch.no_grad():
                model(torch.ones(2, 4))
            for step in range(3):
                model(torch.ones(2, 4)).sum().backward()
                optimizer.step()
        result = graphdbg.run_local(evaluate_then_train, break_on="expr:abs_max > 0", on_hit="continue", keep_tensors=0)
        print(json.dumps({"steps": result.steps, "nodes": sorted({hit.node for hit in result.hits})}))
    """)
    # The evaluation is no step, because the optimizer is known from the start.
    assert said["steps"] == 3
    assert {"forward/0/weight", "forward/0/addmm"} <= set(said["nodes"])


def test_an_exception_is_in_the_result(run):
    said, _ = run("""
        def fail():
            train(batches=2)
            raise ValueError("no more data")
        result = graphdbg.run_local(fail)
        print(json.dumps({"result": result, "same": isinstance(result.error, ValueError)}))
    """)
    result = said["result"]
    assert (result["status"], result["exit_code"], result["steps"]) == ("failed", 1, 2)
    assert (result["exception"]["type"], result["exception"]["message"]) == ("ValueError", "no more data")
    assert "in fail" in result["exception"]["traceback"]
    # The frames of graphdbg are not the user's concern.
    assert "function_run" not in result["exception"]["traceback"]
    assert said["same"]


def test_steps_and_batches_are_limited(run):
    said, _ = run("""
        five = graphdbg.run_local(train, 0, steps=5)
        cut = graphdbg.run_local(train, 0, limit_batches=3)
        length = len(DataLoader(torch.ones(40, 4), batch_size=4))
        print(json.dumps({"five": five, "cut": cut, "value": cut.value, "length": length, "whole": train()}))
    """)
    assert (said["five"]["status"], said["five"]["steps"]) == ("terminated", 5)
    assert (said["cut"]["status"], said["cut"]["steps"], said["value"]) == ("finished", 3, 3)
    # Afterwards data loaders are as before.
    assert (said["length"], said["whole"]) == (10, 8)


def test_a_function_that_goes_on_after_hits_keeps_the_first_tensors(run):
    said, _ = run("""
        result = graphdbg.run_local(train, 3, break_on="nan,inf", on_hit="continue", keep_tensors=2)
        kept = [hit.array is not None for hit in result.hits]
        try:
            result.hits[-1].tensor()
        except graphdbg.GraphdbgError as error:
            code = error.code
        print(json.dumps({"status": result.status, "steps": result.steps, "kept": kept, "code": code}))
    """)
    assert (said["status"], said["steps"], said["code"]) == ("finished", 8, "value_gone")
    assert said["kept"][:2] == [True, True] and sum(said["kept"]) == 2 and len(said["kept"]) > 2


def test_a_paused_function_is_controlled_by_a_client(run):
    said, _ = run("""
        stops = []
        def user():
            client = graphdbg.connect()
            job = client.job("function", timeout=120)
            while not (stop := job.wait_for_stop(120)).has_ended:
                if stop.pause_reason == "watchpoint":
                    stops.append(stop.step)
                    job.unwatch(stop.stopped_by[0])
                    job.continue_()
                else:
                    job.wait_for_resume(120)
        thread = threading.Thread(target=user)
        def function():
            thread.start()
            return train(3)
        result = graphdbg.run_local(function, break_on="inf", on_hit="pause")
        thread.join()
        print(json.dumps({"stops": stops, "status": result.status, "steps": result.steps}))
    """)
    assert said == {"stops": [3], "status": "finished", "steps": 8}


def test_a_function_that_trains_nothing_is_not_debugged(run):
    said, stderr = run("""
        result = graphdbg.run_local(lambda: 7)
        print(json.dumps({"debugged": result.debugged, "value": result.value, "status": result.status}))
    """)
    assert said == {"debugged": False, "value": 7, "status": "finished"}
    assert "nothing was debugged" in stderr


def test_the_process_is_as_before(run):
    said, _ = run("""
        import os
        os.environ["GRAPHDBG_JOB"] = "mine"
        graphdbg.run_local(train)
        ours = {name: value for name, value in os.environ.items() if name.startswith("GRAPHDBG_")}
        print(json.dumps({"environment": ours, "threads": threading.active_count()}))
    """)
    assert said == {"environment": {"GRAPHDBG_JOB": "mine"}, "threads": 1}


def test_wrong_calls_are_errors(run):
    said, _ = run("""
        errors = []
        def attempt(*args, **options):
            try:
                graphdbg.run_local(*args, **options)
            except graphdbg.GraphdbgError as error:
                errors.append(str(error))
        attempt(train, break_on="no_such_condition")
        attempt(["true"], limit_batches=3)
        thread = threading.Thread(target=attempt, args=(train,))
        thread.start(); thread.join()
        attempt(lambda: attempt(train))
        print(json.dumps({"errors": errors}))
    """)
    unknown, command, thread, nested = said["errors"]
    assert "no_such_condition" in unknown
    assert "for functions" in command
    assert "main thread" in thread
    assert "being debugged already" in nested


def test_results_of_functions_are_kept(run, tmp_path):
    run("""
        print(json.dumps(graphdbg.run_local(train, 3, break_on="nan")))
    """)
    (kept,) = (Path(tmp_path) / "state" / "graphdbg" / "jobs").iterdir()
    assert kept.name.startswith("train-")
    assert json.loads((kept / "result.json").read_text())["status"] == "terminated"
