"""recorded_run.ipynb, executed on a run that a real training job recorded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

# The project's environment has these packages and those that the notebook imports. If one is missing, this test fails
# instead of being skipped.
import nbclient
import nbformat
import pytest
from conftest import PACKAGE, clean_environment

NOTEBOOK = Path(__file__).with_name("recorded_run.ipynb")
SECONDS = 180

TRAIN = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x = torch.randn(32, 4)
for step in range(1, 13):
    loss = torch.nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    norm = torch.linalg.vector_norm(torch.cat([each.grad.flatten() for each in model.parameters()]))
    print(loss.item(), norm.item(), flush=True)
"""
# Prints the values that the cells computed, for comparison.
ANSWERS = "import json; print(json.dumps([losses['mean'].tolist(), total.tolist(), list(norms.columns)]))"


def outputs_of(cell: Any, kind: str) -> list[Any]:
    return [each for each in cell.outputs if kind in (each.output_type, *each.get("data", {}))]


def test_the_notebook_plots_what_the_job_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "train.py"
    script.write_text(TRAIN)
    environment = clean_environment(
        PYTHONPATH=str(PACKAGE / "_inject"), GRAPHDBG_RECORD="runs", GRAPHDBG_JOB="abc", GRAPHDBG_RECORD_OVERHEAD="0"
    )
    job = subprocess.run(
        [sys.executable, str(script)], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert job.returncode == 0, job.stderr
    printed = [tuple(map(float, line.split())) for line in job.stdout.splitlines()]

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "the notebook is kept without its outputs"
    notebook.cells.append(nbformat.v4.new_code_cell(ANSWERS))
    # Where graphdbg is not installed but imported from a directory.
    monkeypatch.setenv("PYTHONPATH", str(PACKAGE.parent))
    nbclient.NotebookClient(
        notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()

    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert cells[0].outputs[0].text == "train.py: 12 steps of modes train, ended by exit\n"
    assert sum(len(outputs_of(cell, "image/png")) for cell in cells) == 2
    losses, total, gradients = json.loads(cells[-1].outputs[0].text)
    assert losses == pytest.approx([loss for loss, _ in printed], rel=1e-6)
    assert total == pytest.approx([norm for _, norm in printed], rel=1e-6)
    assert len(gradients) == 4
