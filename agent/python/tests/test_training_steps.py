"""Every op of whole training steps is captured: forward pass, backward pass, optimizer.

The models are small versions of well-known ones (training_models.py). As in
test_every_op.py, each is trained as it is and under a dispatch mode.
"""

from __future__ import annotations

import ast
import subprocess
import warnings
from pathlib import Path

import pytest
from compared_ops import Parts, captured, difference_between_runs, difference_within_a_run, seen
from conftest import Script

HERE = Path(__file__).resolve().parent


def models() -> list[str]:
    """The names in training_models.py, which this process does not import because PyTorch may be missing."""
    source = ast.parse((HERE / "training_models.py").read_text())
    functions = [node for node in source.body if isinstance(node, ast.FunctionDef)]
    return [f.name for f in functions if not f.args.args and ast.unparse(f.returns or f) == "Training"]


MODELS = models()
# Autocast is a part of the op that the agent captures: it converts the arguments below.
CONVERSIONS = {"": (), "bfloat16": ("_to_copy",)}
# Models whose ops differ between the two processes, with the reason.
DIFFERENT = {
    "gru": "PyTorch copies the parts of a split tensor while a dispatch mode is active",
    "recommender": "a sparse gradient is stored as it is, unless the mode, too, holds it: then it is copied",
}


def models_for(script: Script, lower: str) -> list[str]:
    """The models that PyTorch trains in this type, if any, on this processor: oneDNN has no LSTM in bfloat16 without
    AVX-512, for example."""
    if not lower:
        return MODELS
    text = f"import sys\nsys.path.insert(0, {str(HERE)!r})\nimport training_models\n"
    command = [script.python, "-c", f"{text}print(*training_models.untrainable({lower!r}))"]
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout.split()
    if found:
        warnings.warn(f"not trained in {lower}, which PyTorch cannot do here: {', '.join(found)}", stacklevel=2)
    return [name for name in MODELS if name not in found]


def train(script: Script, names: list[str], lower: str, under_mode: bool) -> tuple[Parts, Parts]:
    ops = script.directory / "ops.jsonl"
    text = f"import sys\nsys.path.insert(0, {str(HERE)!r})\nimport training_models\ntraining_models.main()"
    process, trace = script.start(text, lower, str(ops) if under_mode else "", *names)
    try:
        errors = process.communicate(timeout=600)[1]
    finally:
        process.kill()
    assert process.returncode == 0, errors
    assert "graphdbg" not in errors, errors
    return captured(trace), seen(ops) if under_mode else {}


@pytest.mark.newest_torch
@pytest.mark.parametrize("lower", ["", "bfloat16"])
def test_every_op_of_training_steps_is_captured(script: Script, lower: str) -> None:
    names = models_for(script, lower)
    alone, _ = train(script, names, lower, under_mode=False)
    watched, expected = train(script, names, lower, under_mode=True)
    assert len(names) >= 12
    assert len(expected) == len(watched) == len(alone) == 2 * len(names)

    within = {names[i // 2]: difference_within_a_run(watched[i], ops) for i, ops in expected.items()}
    assert {name: text for name, text in within.items() if text} == {}
    between = {names[i // 2]: difference_between_runs(alone[i], ops, CONVERSIONS[lower]) for i, ops in expected.items()}
    assert {name: text for name, text in between.items() if text and name not in DIFFERENT} == {}
    assert {name for name in DIFFERENT if name in between and not between[name]} == set(), "their exemptions must go"
