"""Training scripts with one numerical bug each: the right op, the right line."""

from __future__ import annotations

import sys

import pytest
from conftest import HOSTS, marked_line

# Script, the condition that holds first, and the op at which it does.
PLANTED = [
    ("norm_of_zero", "nan", "backward/2/div"),
    ("variance_without_epsilon", "nan", "forward/norm/div"),
    ("half_precision_overflow", "inf", "forward/bmm"),
    ("division_in_the_loss", "nan", "forward/div"),
    ("weights_explode", "inf", "forward/pow"),
    ("own_autograd_function", "nan", "backward/"),
]


@pytest.mark.parametrize(("name", "condition", "node"), PLANTED)
def test_stops_at_the_first_bad_value(debug_run, name: str, condition: str, node: str) -> None:
    script = HOSTS / "planted" / f"{name}.py"
    run = debug_run(
        "--no-wait", "--break-on", "nan,inf", "--on-hit", "terminate", command=[sys.executable, str(script)]
    )
    assert run.result["status"] == "terminated"
    hit = run.result["hits"][0]
    assert hit["condition"] == condition
    assert hit["node"].startswith(node)
    assert hit["source"]["file"] == str(script)
    assert hit["source"]["line"] == marked_line(script)
    assert hit["origin"] == "origin"
