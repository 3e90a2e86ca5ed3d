"""The process that evaluates rules in Python while a run is recorded (`graphdbg rulehost`), and its supervision."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

# Makes synthetic_run importable.
import random_rules  # noqa: F401
from conftest import GRAPHDBG, clean_environment, wait_until
from graphdbg.cli.rule_process import RuleProcess
from synthetic_run import (
    BEGIN_KIND,
    END_KIND,
    Node,
    SyntheticRank,
    mark,
    statistics_of,
    statistics_records,
    write_run_json,
)

Json = dict[str, Any]

MY_RULES = """
import ctypes, os, time
import graphdbg

class Rises(graphdbg.Rule):
    id, title = "rises", "A value rises"
    params = {"by": graphdbg.Param(float, 0)}

    def observe(self, state, now):
        print("observing", now.step)
        value = now.value().item()
        rises = state is not None and value > state + self.values["by"]
        return value, self.finding(f"{state:g} to {value:g}", value=value) if rises else None

    def finish(self, state):
        return self.finding("the end") if state == 4 else None

class Raises(graphdbg.Rule):
    id, title = "raises", "It raises"

    def observe(self, state, now):
        raise RuntimeError("no")

class Sleeps(graphdbg.Rule):
    id, title = "sleeps", "It does not return"

    def observe(self, state, now):
        try:
            time.sleep(3600)
        except Exception:
            return state, None

class Hangs(graphdbg.Rule):
    id, title = "hangs", "It keeps the interpreter's lock"

    def observe(self, state, now):
        ctypes.PyDLL(None).sleep(3600)

class Crashes(graphdbg.Rule):
    id, title = "crashes", "It ends the process"

    def observe(self, state, now):
        if now.step == 3:
            os.abort()
        return state, None
"""


@pytest.fixture
def run(tmp_path: Path) -> str:
    """A recording of two ranks, each of which has the losses 1, 2, 4."""
    write_run_json(tmp_path / "run", 2)
    for number in range(2):
        rank = SyntheticRank(tmp_path / "run", number, 2, "run")
        rank.nodes.append(Node("forward/loss", 3, shapes=[()]))
        rank.collections["losses"] = [(1, 0)]
        for step, value in enumerate((1.0, 2.0, 4.0), 1):
            records = statistics_records(numpy.array([1]), step, statistics_of(numpy.array([value])))
            rank.add(mark(BEGIN_KIND, step), records, mark(END_KIND, step))
        rank.write()
    (tmp_path / "my_rules.py").write_text(MY_RULES)
    return str(tmp_path / "run")


def rulehost(run: str, *lines: Json, options: tuple[str, ...] = ()) -> tuple[int, list[Json], str]:
    """Runs the command. Returns its exit code, its messages except those of progress, and standard error."""
    file = str(Path(run).parent / "my_rules.py")
    done = subprocess.run(
        [GRAPHDBG, "rulehost", "--rules-from", file, *options],
        input="".join(json.dumps(line) + "\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=120,
        env=clean_environment(),
    )
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    return done.returncode, [each for each in messages if "at" not in each and "counts" not in each], done.stderr


def test_findings_come_with_their_places(run: str) -> None:
    rule = {"rule": "rises", "params": {"by": 1}, "cool_down": 0, "name": "mine"}
    code, (ready, *found), errors = rulehost(run, {"rules": [rule], "run": run})
    assert code == 0 and ready == {"ready": ["mine"]}
    messages = [(each["finding"]["rank"], each["finding"]["message"]) for each in found]
    assert messages == [(0, "2 to 4"), (1, "2 to 4"), (0, "the end"), (1, "the end")]
    assert found[0]["finding"] == {
        "rule": "mine",
        "rank": 0,
        "tensor": "forward/loss:0",
        "mode": "train",
        "step": 3,
        "values": {"value": 4.0},
        "message": "2 to 4",
        "advice": None,
    }
    assert "observing 3" in errors


def test_rules_that_raise_or_are_too_slow_are_switched_off(run: str) -> None:
    rules = [{"rule": "sleeps"}, {"rule": "raises"}, {"rule": "rises", "cool_down": 0}]
    code, messages, _ = rulehost(run, {"rules": rules, "run": run}, options=("--time-limit", "0.2"))
    assert code == 0
    slow, failed, *found = messages[1:]
    assert slow == {"switched_off": 0, "name": "sleeps", "error": "a call took more than 0.2 s"}
    assert (failed["switched_off"], failed["error"].startswith("RuntimeError: no (")) == (1, True)
    assert {each["rule"] for each in found} == {2}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([{"rules": [{"rule": "rise"}], "run": "."}], "rules[0].rule: there is no rule 'rise'; did you mean 'rises'?"),
        ([{"rules": [], "run": "/no/such/run"}], "no recorded run at /no/such/run"),
        ([{"paused": True}], "expected the rules and the run's directory first"),
    ],
)
def test_invalid_requests_end_it(run: str, lines: list[Json], message: str) -> None:
    code, messages, _ = rulehost(run, *lines)
    assert code == 2 and message in messages[-1]["error"]


def test_expressions_are_left_to_the_server(run: str) -> None:
    code, messages, _ = rulehost(run, {"rules": [{"when": "l2 > 1"}], "run": run})
    assert code == 2 and "is an expression, which the server evaluates itself" in messages[-1]["error"]


class Watched:
    """Evaluates rules in their process until they are done."""

    def __init__(self, run: str, *rules: str, silence_seconds: float = 20.0) -> None:
        self.findings: list[Json] = []
        entries = {name: {"rule": name, "cool_down": 0} for name in rules}
        files = [str(Path(run).parent / "my_rules.py")]
        self.process = RuleProcess(entries, files, run, self.findings.append, silence_seconds)

    def finish(self) -> None:
        self.process.job_is_over()

        def is_done() -> bool:
            self.process.update()
            return not self.process.is_running

        wait_until("the rules are done", is_done)

    def errors(self) -> dict[str, str]:
        return {name: rule.error for name, rule in self.process.rules.items()}


@pytest.fixture
def watch(run: str) -> Iterator[Callable[..., Watched]]:
    watched: list[Watched] = []

    def start(*rules: str, **options: float) -> Watched:
        watched.append(Watched(run, *rules, **options))
        return watched[-1]

    yield start
    for each in watched:
        each.process.close()


def test_a_rule_that_cannot_be_interrupted_is_switched_off_alone(watch: Callable[..., Watched]) -> None:
    watched = watch("hangs", "rises", silence_seconds=3)
    watched.finish()
    errors = watched.errors()
    assert "took more than 3 s and could not be interrupted" in errors["hangs"] and not errors["rises"]
    assert watched.process.rules["rises"].state == "done"
    assert watched.process.rules["rises"].counts["observations"] == 6
    assert len(watched.findings) == 6


def test_a_process_that_dies_is_started_again_without_the_rule(watch: Callable[..., Watched]) -> None:
    watched = watch("rises", "crashes")
    watched.finish()
    crash = "it ended the process of the rules in Python, with exit code -6"
    assert watched.errors() == {"rises": "", "crashes": crash}
    # Earlier findings are not reported again.
    found = [(each["rank"], each["step"], each["message"]) for each in watched.findings]
    assert len(found) == len(set(found)) == 6 and (0, 3, "2 to 4") in found


def test_silence_is_noticed_but_not_while_the_job_is_paused(tmp_path: Path) -> None:
    write_run_json(tmp_path / "run", 1)
    rank = SyntheticRank(tmp_path / "run", 0, 1, "run")
    rank.nodes.append(Node("forward/loss", 3))
    rank.add(mark(BEGIN_KIND, 1), mark(END_KIND, 1))
    rank.write()
    findings: list[Json] = []
    entry = {"rule": "stalled_training", "params": {"threshold": 2}}
    process = RuleProcess({"stalled": entry}, [], str(tmp_path / "run"), findings.append)
    try:
        process.set_paused(True)
        # Twice the threshold.
        until = time.monotonic() + 4
        while time.monotonic() < until:
            process.update()
            time.sleep(0.1)
        assert not findings
        process.set_paused(False)
        wait_until("a finding", lambda: process.update() or findings)
    finally:
        process.close()
    assert (findings[0]["rank"], findings[0]["step"]) == (0, 1) and findings[0]["values"]["seconds"] > 2
