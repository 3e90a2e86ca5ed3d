"""An op of the program's own that returns other than it declares, or fails, is named."""

from __future__ import annotations

import pytest
from conftest import HOSTS
from environments import python_with

PROGRAM = HOSTS / "frameworks" / "wrong_op.py"
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}


@pytest.mark.long(but=["jax-"])
@pytest.mark.parametrize(
    ("way", "node", "message"),
    [
        ("tensorflow", "forward/net/halved/halve", "is double, but expects float"),
        # The other callback of the program is right.
        ("jax", "forward/train_step/pure_callback_1", "Expected: (16, 4), Actual: (15, 4)"),
        ("jax_fails", "forward/train_step/pure_callback_1", "index 16 is out of bounds"),
    ],
)
def test_it_is_named(debug_run, way: str, node: str, message: str) -> None:
    command = [str(python_with(way.partition("_")[0])), str(PROGRAM), way]
    run = debug_run("--no-wait", "--break-on", "nan", command=command, **QUIET)
    assert run.code == 1, run.stderr
    assert run.result["status"] == "failed"
    assert run.result["exception"]["node"] == node
    assert message in run.result["exception"]["message"]
