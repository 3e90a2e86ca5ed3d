"""Conditions of the catalogue and expressions, checked on a real job."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from conftest import GRAPHDBG, HOSTS, clean_environment

COMMAND = [sys.executable, str(HOSTS / "small_regression.py")]
WEIGHT = "forward/0/weight"
RELU = "forward/1/relu"


def printed(output: str, name: str) -> dict[int, tuple[float, float, float]]:
    """The mean, the largest absolute value and the percentage of values <= 0, by step."""
    rows = [line.split() for line in output.splitlines() if line.startswith(name + " ")]
    return {int(row[1]): (float(row[2]), float(row[3]), float(row[4])) for row in rows}


def hits_at(run: Any, node: str) -> list[dict[str, Any]]:
    return [hit for hit in run.result["hits"] if hit["node"] == node]


def watch(debug_run: Any, break_on: str) -> Any:
    run = debug_run("--no-wait", "--break-on", break_on, "--on-hit", "continue", command=COMMAND)
    assert run.code == 0
    return run


def test_an_expression_hits_when_it_holds_and_tells_what_it_found(debug_run) -> None:
    run = watch(debug_run, "expr:abs_max > 0.35 && max(step, 1) > 2 && count == 128")
    weights = printed(run.stdout, "weight")
    expected = [step for step, (_, abs_max, _) in weights.items() if step > 2 and abs_max > 0.35]
    assert expected
    hits = hits_at(run, WEIGHT)
    assert [hit["step"] for hit in hits] == expected
    for hit in hits:
        assert hit["condition"] == "expression"
        assert hit["params"] == {"expression": "abs_max > 0.35 && max(step, 1) > 2 && count == 128"}
        assert hit["actual"] == {"abs_max": weights[hit["step"]][1], "step": hit["step"], "count": 128}


def test_a_condition_on_activations_leaves_weights_alone(debug_run) -> None:
    run = watch(debug_run, "activation_inactive:30")
    shares = {step: row[2] for step, row in printed(run.stdout, "relu").items()}
    expected = [step for step, share in shares.items() if share >= 30]
    assert expected
    assert not hits_at(run, WEIGHT)
    hits = hits_at(run, RELU)
    assert [hit["step"] for hit in hits] == expected
    for hit in hits:
        assert hit["actual"]["inactive_percentage_ge"] == pytest.approx(shares[hit["step"]], rel=1e-12)
        assert hit["params"] == {"inactive_percentage_ge": 30}


def test_any_given_parameter_of_a_condition_holds(debug_run) -> None:
    run = watch(debug_run, "weight_too_large:max_gt=1e9:mean_gt=-1")
    weights = printed(run.stdout, "weight")
    hits = {hit["step"]: hit for hit in hits_at(run, WEIGHT)}
    assert set(weights) <= set(hits)
    for step, (mean, _, _) in weights.items():
        assert hits[step]["actual"]["mean_gt"] == pytest.approx(mean, rel=1e-12)
        assert hits[step]["actual"]["max_gt"] < 1e9


def test_losses_stay_the_same_with_every_kind_of_condition(debug_run) -> None:
    plain = watch(debug_run, "nan")
    watched = watch(debug_run, "tensor_all_zero,sd_gt:1e-3,expr:l2 > 0 || zero_count > 1,tensor_range:max_min_gt=0.1")
    assert watched.result["hits"]
    assert watched.stdout == plain.stdout


def test_the_recommended_set_is_watched_by_its_name(debug_run) -> None:
    command = [sys.executable, str(HOSTS / "deep_sigmoid.py")]
    run = debug_run("--no-wait", "--break-on", "recommended,max_gt:1e9", "--on-hit", "terminate", command=command)
    assert run.result["status"] == "terminated"
    assert "gradient_vanishing" in {hit["condition"] for hit in run.result["hits"]}


def test_the_recommended_set_lists_weights_that_do_not_learn(debug_run) -> None:
    # The gradient of the first layer is far above any absolute threshold that healthy trainings stay above.
    command = [sys.executable, str(HOSTS / "deep_sigmoid.py"), "--layers", "6", "--freeze", "--steps", "22"]
    run = debug_run("--no-wait", "--break-on", "recommended", "--on-hit", "pause", command=command)
    # They are listed and pause nothing.
    assert run.code == 0 and run.result["steps"] == 22
    assert {hit["condition"] for hit in run.result["hits"]} == {"expression"}
    causes = {each["origin"]["node"]: each["diagnosis"]["title"] for each in run.result["incidents"]}
    assert causes["forward/14/weight"] == "Frozen parameter"
    assert causes["forward/0/weight"] == "A weight that hardly changes"
    assert "forward/12/weight" not in causes


def test_an_unknown_condition_lists_the_known_ones_and_the_sets(debug_run) -> None:
    run = debug_run("--no-wait", "--break-on", "nonsense", command=COMMAND)
    assert run.code == 2
    assert "not_training and recommended" in run.stderr


def test_conditions_are_listed_with_causes_and_next_steps() -> None:
    def conditions(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [GRAPHDBG, "conditions", *arguments]
        return subprocess.run(command, env=clean_environment(), capture_output=True, text=True, timeout=120)

    listed = conditions().stdout.splitlines()
    assert len(listed) > 30 and any(line.split()[0] == "gradient_vanishing" for line in listed)
    inf = conditions("inf", "--op", "aten::log").stdout
    assert inf.startswith("inf: ") and "likely causes\n    - The logarithm of zero" in inf
    assert "what to do next\n    - Replace log(softmax(x))" in inf
    rows = json.loads(conditions("--json", "not_training", "expression").stdout)["conditions"]
    assert len(rows) > 10 and all(row["advice"]["causes"] and row["advice"]["next"] for row in rows)
    wrong = conditions("gradient_vanish")
    assert wrong.returncode == 2 and "did you mean gradient_vanishing?" in wrong.stderr
