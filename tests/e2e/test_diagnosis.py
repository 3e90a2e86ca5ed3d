"""Causes of hits: each rule explains a step of a real training, with its numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from conftest import GRAPHDBG, HOSTS, clean_environment

SCRIPT = HOSTS / "diagnosed.py"
CONDITIONS = (
    "nan,inf,recommended,weight_not_changed,gradient_vanishing:abs_mean_lt=1e-9,gradient_too_large:abs_mean_gt=1e3"
)
# By case, which is the scope of its node: the rule, the title, and a part of the text.
CASES = {
    "softmax_then_log": ("log_of_zero", "Logarithm of a softmax that is zero", "2 of 3 values are 0"),
    "softmax_over_batch": (
        "log_of_zero",
        "Logarithm of a softmax that is zero",
        "It is over dimension 0 of [3, 2], so that the rows compete.",
    ),
    "log_of_zero": ("log_of_zero", "Logarithm of zero", "1 of 4 values is 0, and log(0) is -Inf"),
    "log_of_negative": ("log_of_negative", "Logarithm of a negative number", "down to -2; log is NaN below 0"),
    "zero_by_zero": ("division_by_zero", "Zero divided by zero", "1 of 2 values is 0, and so is the dividend"),
    "number_by_zero": ("division_by_zero", "Division by zero", "The divisor is the number 0"),
    "deviation_of_zero": ("division_by_zero", "Division by a standard deviation of zero", "the only value is 0"),
    "sqrt_of_negative": ("sqrt_of_negative", "Square root of a negative number", "reaches down to -1"),
    "rsqrt_of_zero": ("reciprocal_of_zero", "Reciprocal of zero", "rsqrt(0) is infinite"),
    "sqrt_gradient": ("sqrt_gradient_at_zero", "Gradient of sqrt at zero", "1 of 2 values is 0"),
    "exponential": ("exp_overflow", "Exponential overflows float32", "reaches 95; exp overflows float32 above 88.72"),
    "negative_power": ("pow_of_negative", "Negative number to a fractional power", "to -8, and the exponent is 0.3"),
    "power_of_zero": ("pow_of_zero", "Zero to a negative power", "0 to the power of -1.5 is infinite"),
    "power_overflow": ("overflow", "Overflow in float32", "The base reaches 1e20; to the power of 2 it is 1e40"),
    "arc_cosine": ("outside_domain", "Argument outside of the domain of acos", "between 0 and 1.25"),
    "half_product": ("overflow", "Overflow in float16", "Input reaches 12,032; \u00d7 8 = 96,256 > 65,504."),
    "half_tensor_product": (
        "overflow",
        "Overflow in float16",
        "Inputs reach 400 and 300; their product can be 120,000",
    ),
    "half_matrix_product": (
        "overflow",
        "Overflow in float16",
        "50 and 40; sums of 64 products can be 128,000 > 65,504",
    ),
    "attention_scores": ("attention_overflow", "Attention scores overflow float16", "Queries and keys reach 50 and 40"),
    "repeated_product": (
        "repeated_product",
        "The value grows with each run of the same op",
        "repeated_product has run this op 3 times before in this step",
    ),
    "half_sum": ("overflow", "Overflow in float16", "2,000 values with a mean size of 40 add up to 80,000 > 65,504"),
    "half_addition": ("overflow", "Overflow in float16", "40,000 and 30,000; together that is 70,000 > 65,504"),
    "cast_to_half": ("cast_overflow", "Too large for float16", "is float32 and reaches 70,000 > 65,504"),
    "division_by_tiny": ("division_by_tiny", "Division by a tiny number", "as small as 1e-39"),
    "infinity_minus_infinity": ("inf_minus_inf", "Infinity minus infinity", "Both inputs have infinities (1 and 1)"),
    "infinity_times_zero": ("inf_times_zero", "Infinity times zero", "one infinity, the other 1 zero"),
    "bad_constant": ("bad_input", "Inf in the input data", "lift_fresh, 1 of 2 values is Inf"),
    "masked_row": ("masked_row", "Every element of a row is masked", "In 1 row all 2 scores are -Inf"),
    "labels_ignored": ("labels_ignored", "All labels are ignored", "All 8 labels are -100 (ignore_index)"),
    "mean_of_nothing": ("mean_of_nothing", "Mean of an empty tensor", "no elements"),
    "deviation_of_one": ("deviation_of_one", "Standard deviation of a single value", "n - 1 = 0"),
    "normalization_without_epsilon": (
        "normalization_without_epsilon",
        "Normalization of constant values",
        "All 8 inputs are 3: their variance is 0, and eps is 0",
    ),
    "scaled_loss": ("loss_scale", "The scaled loss overflows", "The loss is multiplied by 1e35"),
    "dead_relu": ("dead_relu", "Dead ReLU", "All 64 inputs are between -50.5 and -49.5."),
    "saturated_sigmoid": ("saturated", "Saturated sigmoid", "All 64 outputs are 1, where its derivative"),
    "vanishing_gradient": (
        "vanishing_gradient",
        "Vanishing gradient",
        "is 1e-12. It arrives with 1 and is made 1e12 times smaller",
    ),
    "exploding_gradient": ("exploding_gradient", "Exploding gradient", "reaches 1,000,000. It arrives with 1 "),
    "bad_weight": ("parameter_not_finite", "Weight already contains NaN", "is NaN before the first update"),
    "bad_input": ("bad_input", "NaN in the input data", "In forward/x, 1 of 4 values is NaN"),
    "frozen": ("frozen", "Frozen parameter", "requires_grad is False"),
    "rate_of_zero": ("rate_of_zero", "Learning rate of zero", "alpha of optimizer/rate_of_zero/"),
    "not_optimized": ("not_optimized", "No optimizer updates this parameter", "but no op of an optimizer does"),
    "unexplained": (None, None, None),
}

Result = dict[str, Any]


def _case_of(incident: Result) -> str:
    """The scope of the node; the input of the model has none."""
    node = str(incident["origin"]["node"])
    return "bad_input" if node == "forward/x" else node.split("/")[1]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    file = tmp_path_factory.mktemp("diagnosis") / "result.json"
    options = ("--no-wait", "--on-hit", "continue", "--break-on", CONDITIONS, "--result", str(file))
    done = subprocess.run(
        [GRAPHDBG, "run", *options, "--", sys.executable, str(SCRIPT)],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    loaded: Result = json.loads(file.read_text())
    return loaded


@pytest.mark.parametrize("case", CASES)
def test_names_the_cause_with_its_numbers(result: Result, case: str) -> None:
    rule, title, text = CASES[case]
    found = [each["diagnosis"] for each in result["incidents"] if _case_of(each) == case]
    causes = [each for each in found if (each["rule"], each["title"]) == (rule, title)]
    assert causes, found
    # What the backward pass makes of the same fault comes later.
    assert causes[0]["text"] is None if text is None else text in causes[0]["text"]
    assert causes[0]["next"]


def test_of_a_fault_that_no_rule_explains_there_is_advice_only(result: Result) -> None:
    (cause,) = (
        each["diagnosis"]
        for each in result["incidents"]
        if each["origin"]["node"].startswith("forward/unexplained/") and each["origin"]["condition"] == "nan"
    )
    assert cause["evidence"] == []
    assert cause["causes"] and cause["next"]


def test_the_incidents_of_a_run_are_told_apart(result: Result) -> None:
    spreading = [each for each in result["incidents"] if each["diagnosis"]["rule"] == "log_of_zero"]
    assert [each["origin"]["node"].split("/")[1] for each in spreading] == [
        "softmax_then_log",
        "softmax_over_batch",
        "log_of_zero",
    ]
    # The derivative of the logarithm divides by the same zeros.
    assert not [each for each in result["incidents"] if each["origin"]["node"].startswith("backward/log_of_zero/")]
    first = spreading[0]
    assert first["steps"][0]["first"] == first["origin"]["step"]
    assert first["hit_count"] > first["reached_count"] > 0
    assert first["ranks"] == [0]
