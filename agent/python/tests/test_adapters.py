"""If the package contains no adapter for this PyTorch, one is compiled, or the Python adapter is used."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Run, Script
from scripts import CNN

FORWARD = {"forward/conv/convolution", "forward/relu/relu", "forward/fc/addmm"}


@pytest.fixture
def bare(script: Script, tmp_path: Path) -> Iterator[Script]:
    """Runs scripts with a package that contains no adapter, and with an empty cache."""
    stage = tmp_path / "stage"

    def native(directory: str, names: list[str]) -> list[str]:
        return [name for name in names if name.startswith(("torch-", "_hooks.abi3", "graphdbg-server"))]

    shutil.copytree(script.stage, stage, copy_function=os.link, ignore=native)
    variables = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    yield Script(stage, tmp_path, script.python, script.variables | variables)
    shutil.rmtree(stage)


def lines(run: Run) -> list[str]:
    return [line for line in run.stderr.splitlines() if line.startswith("graphdbg:")]


@pytest.mark.newest_torch
def test_what_is_missing_is_compiled_once_for_all_processes(bare: Script) -> None:
    both = [bare.start(CNN, "SGD") for _ in range(2)]
    first, second = (bare.finish(process, trace) for process, trace in both)
    messages = sorted(line.partition(" (")[0] for line in lines(first) + lines(second))
    assert len(messages) == 2, messages
    assert messages[1].startswith("graphdbg: no adapter for Python 3") and messages[1].endswith(": compiling one")
    assert messages[0].startswith("graphdbg: no adapter for PyTorch 2") and messages[0].endswith(": compiling one")
    later = bare(CNN, "SGD")
    assert lines(later) == []
    for run in (first, second, later):
        assert run.returncode == 0, run.stderr
        assert FORWARD | {"backward/fc/mm", "optimizer/SGD/add_"} <= set(run.executed(step=2))


@pytest.mark.newest_torch
def test_where_compiling_fails_python_takes_over_and_the_log_is_named(bare: Script, tmp_path: Path) -> None:
    run = bare(CNN, "SGD", CXX="/bin/false")
    assert [line.partition(" ")[2].partition(":")[0] for line in lines(run)] == [
        f"no adapter for Python {sys.version_info.major}.{sys.version_info.minor}",
        "follows PyTorch from Python, which is slower",
    ]
    log = Path(lines(run)[1].rpartition(" ")[2])
    assert "/bin/false -shared" in log.read_text()
    assert set(run.executed(step=2)) >= FORWARD
    # The next run does not try again.
    again = bare(CNN, "SGD", CXX="/bin/false")
    assert len(lines(again)) == 1 and f"failed before; see {log}" in lines(again)[0]
    assert again.executed(step=2) == run.executed(step=2)


def test_without_a_compiler_python_takes_over(bare: Script) -> None:
    plain = bare(CNN, "Adam", GRAPHDBG_ENABLE="0")
    run = bare(CNN, "Adam", PATH="")
    assert len(lines(run)) == 1 and "no C++ compiler found" in lines(run)[0]
    assert run.stdout == plain.stdout
    assert [call["step"] for call in run.called("step_end")] == [1, 2, 3, 4]
    assert set(run.executed(step=2)) >= FORWARD
    assert [name for name in run.executed(step=2) if name.startswith("backward/")]
    assert [name for name in run.executed(step=2) if name.startswith("optimizer/Adam/")]
    assert run.execution("forward/fc/addmm", step=2)["inputs"][0]["from"] == "forward/fc/bias"
