"""The examples of agent/docs/recorded-runs.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("numpy")
pytest.importorskip("duckdb")
pytest.importorskip("pandas")

from synthetic_run import write_run_json
from test_runs_reading import train

PAGE = Path(__file__).resolve().parents[2] / "docs" / "recorded-runs.md"


def test_the_examples_of_the_page_work(tmp_path, monkeypatch):
    directory = tmp_path / "runs" / "abc"
    write_run_json(directory, 2)
    for number in range(2):
        train(directory, number, 5)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 7
    exec(compile("\n".join(blocks), str(PAGE), "exec"), {})
