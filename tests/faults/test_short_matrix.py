"""The short form of the fault matrix; `tools/dev faults` runs the whole of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from faults import FAULTS
from matrix import SHORT, SURVIVED, run_cell
from processes import undisturbed_losses


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return undisturbed_losses(tmp_path_factory.mktemp("undisturbed"))


@pytest.mark.parametrize(("fault", "moment"), SHORT, ids="-".join)
def test_cell(fault: str, moment: str, undisturbed: list[str], tmp_path: Path) -> None:
    made = next(each for each in FAULTS if each.id == fault)
    outcome = run_cell(made, moment, 0, undisturbed, tmp_path)
    assert outcome.verdict == SURVIVED, outcome.detail
