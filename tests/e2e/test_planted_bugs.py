"""Training scripts with one numerical bug each: graphdbg stops at the right op and line."""

from __future__ import annotations

import sys

import pytest
from conftest import HOSTS, SYSTEM_PYTHON, marked_line

# By script: the condition that matches first, and the op whose output matches.
PLANTED = {
    "norm_of_zero": ("nan", "backward/2/div"),
    "variance_without_epsilon": ("nan", "forward/norm/div"),
    "half_precision_overflow": ("inf", "forward/bmm"),
    "division_in_the_loss": ("nan", "forward/div"),
    "weights_explode": ("inf", "forward/pow"),
    "own_autograd_function": ("nan", "backward/"),
}
# The oldest PyTorch cannot multiply half precision matrices on CPUs.
OLDEST = [name for name in PLANTED if name != "half_precision_overflow"]
FROM_PYTHON = ["norm_of_zero", "variance_without_epsilon", "own_autograd_function"]


def check(debug_run, python: str, name: str, **environment: str) -> None:
    condition, node = PLANTED[name]
    script = HOSTS / "planted" / f"{name}.py"
    options = ("--no-wait", "--break-on", "nan,inf", "--on-hit", "terminate")
    run = debug_run(*options, command=[python, str(script)], **environment)
    assert run.result["status"] == "terminated"
    hit = run.result["hits"][0]
    assert hit["condition"] == condition
    assert hit["node"].startswith(node)
    assert hit["source"]["file"] == str(script)
    assert hit["source"]["line"] == marked_line(script)
    assert hit["origin"] == "origin"
    assert run.code == 143


@pytest.mark.parametrize("name", PLANTED)
def test_stops_at_the_first_bad_value(debug_run, name: str) -> None:
    check(debug_run, sys.executable, name)


@pytest.mark.long(but=["norm_of_zero"])
@pytest.mark.oldest_torch
@pytest.mark.parametrize("name", OLDEST)
def test_stops_there_with_the_oldest_torch(debug_run, name: str) -> None:
    check(debug_run, SYSTEM_PYTHON, name)


@pytest.mark.parametrize("name", FROM_PYTHON)
def test_stops_there_without_a_compiled_adapter(debug_run, name: str) -> None:
    check(debug_run, sys.executable, name, GRAPHDBG_ADAPTER="python")
