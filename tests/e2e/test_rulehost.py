"""`graphdbg rulehost`, driven over pipes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import GRAPHDBG, clean_environment

pytest.importorskip("numpy")

Json = dict[str, Any]

MY_RULES = """
import time
import graphdbg

class Rises(graphdbg.Rule):
    id, title = "rises", "A value rises"
    params = {"by": graphdbg.Param(float, 0)}

    def observe(self, state, now):
        print("observing", now.step)
        value = float(now.value())
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
"""


class Host:
    """A host that runs."""

    def __init__(self, *options: str) -> None:
        self._process = subprocess.Popen(
            [GRAPHDBG, "rulehost", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=clean_environment(),
        )

    def send(self, *messages: Json) -> None:
        assert self._process.stdin
        self._process.stdin.write("".join(json.dumps(message) + "\n" for message in messages))
        self._process.stdin.flush()

    def receive(self) -> Json:
        assert self._process.stdout
        message: Json = json.loads(self._process.stdout.readline())
        return message

    def end(self) -> tuple[int, list[Json], str]:
        """Ends its input: its exit code, what it still writes, and standard error."""
        output, errors = self._process.communicate(timeout=60)
        return self._process.returncode, [json.loads(line) for line in output.splitlines()], errors

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Callable[..., Host]]:
    file = tmp_path / "my_rules.py"
    file.write_text(MY_RULES)
    hosts: list[Host] = []

    def start(*options: str) -> Host:
        hosts.append(Host("--rules-from", str(file), *options))
        return hosts[-1]

    yield start
    for each in hosts:
        each.kill()


def observation(rule: int, step: int, value: float | None, rank: int = 0) -> Json:
    names = ("min", "max", "mean", "abs_mean", "abs_max", "variance", "l1", "l2")
    counts = ("nan_count", "pos_inf_count", "neg_inf_count", "zero_count", "negative_count", "positive_count")
    statistics = {"count": 1, **dict.fromkeys(counts, 0), **dict.fromkeys(names, value)}
    place = {"rank": rank, "tensor": "forward/loss:0", "step": step, "mode": "train", "pass": 1}
    return {"observe": rule, **place, "collections": ["losses"], "statistics": statistics}


def test_findings_come_with_their_places(host: Callable[..., Host]) -> None:
    live = host()
    live.send({"rules": [{"rule": "rises", "params": {"by": 1}, "cool_down": 0, "name": "mine"}], "run": None})
    (ready,) = live.receive()["ready"]
    assert ready == {
        "name": "mine",
        "select": {},
        "series": ["rank", "tensor", "mode"],
        "needs": {"tensors": False, "non_finite": False, "steps": False},
    }
    live.send(*(observation(0, step, value, rank) for step, value in enumerate((1, 2, 4), 1) for rank in (0, 1)))
    found = [live.receive() for _ in range(2)]
    places = [(each["rule"], each["finding"]["rank"], each["finding"]["step"]) for each in found]
    assert places == [(0, 0, 3), (0, 1, 3)]
    assert found[0]["finding"] | {"rank": 0} == {
        "rule": "mine",
        "rank": 0,
        "tensor": "forward/loss:0",
        "mode": "train",
        "step": 3,
        "values": {"value": 4.0},
        "message": "2 to 4",
    }
    code, rest, errors = live.end()
    assert code == 0 and [each["finding"]["message"] for each in rest] == ["the end", "the end"]
    assert "observing 3" in errors


def test_rules_that_raise_or_are_too_slow_are_switched_off(host: Callable[..., Host]) -> None:
    live = host("--time-limit", "0.2")
    live.send({"rules": [{"rule": "sleeps"}, {"rule": "raises"}, {"rule": "rises"}]})
    assert len(live.receive()["ready"]) == 3
    for step in (1, 2):
        live.send(*(observation(rule, step, step) for rule in range(3)))
    slow, failed, found = live.receive(), live.receive(), live.receive()
    assert slow == {"switched_off": 0, "name": "sleeps", "error": "a call took more than 0.2 s"}
    assert (failed["switched_off"], failed["error"].startswith("RuntimeError: no (")) == (1, True)
    assert (found["rule"], found["finding"]["step"]) == (2, 2)
    assert live.end()[0] == 0


def test_silence_is_noticed(host: Callable[..., Host]) -> None:
    live = host()
    live.send({"rules": [{"rule": "stalled_training", "params": {"threshold": 0.1}}]})
    (ready,) = live.receive()["ready"]
    assert ready["needs"]["steps"] and ready["series"] == ["rank"]
    live.send({"observe": 0, "rank": 3, "tensor": "", "step": 7, "mode": "train", "pass": 0, "time": 1e9})
    found = live.receive()["finding"]
    assert (found["rule"], found["rank"], found["step"]) == ("stalled_training", 3, 7)
    assert found["values"]["seconds"] > 0.1


@pytest.mark.parametrize(
    ("request_line", "message"),
    [
        ({"rules": [{"rule": "rise"}]}, "rules[0].rule: there is no rule 'rise'; did you mean 'rises'?"),
        ({"rules": [{"rule": "similar_across_runs", "params": {"other": "x"}}]}, "examines finished runs"),
        ({"rules": [{"when": "l2 > 1"}]}, "is an expression, which the server evaluates itself"),
        ({"rules": [], "run": "/no/such/run"}, "no recorded run at /no/such/run"),
        ({"observe": 0}, "invalid request: KeyError: 'rules'"),
    ],
)
def test_invalid_requests_end_it(host: Callable[..., Host], request_line: Json, message: str) -> None:
    live = host()
    live.send(request_line)
    assert message in live.receive()["error"]
    assert live.end()[0] == 2
