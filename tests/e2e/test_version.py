"""The wheel, the package, the server and the agent have the same version."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import graphdbg
import pytest
from conftest import GRAPHDBG, Server
from graphdbg.cli.main import COMMANDS, make_parser


def test_all_parts_say_the_same_version(server: Server) -> None:
    wheel = (Path(__file__).resolve().parents[2] / "tools/wheel/VERSION").read_text().strip()
    agent = ctypes.CDLL(str(Path(graphdbg.__file__).parent / "lib" / "libgraphdbg.so"))
    agent.graphdbg_version.restype = ctypes.c_char_p
    assert metadata.version("graphdbg") == wheel
    assert graphdbg.__version__ == wheel
    assert agent.graphdbg_version().decode() == wheel
    assert server.client.get("/server")["version"] == wheel
    said = subprocess.run([GRAPHDBG, "--version"], capture_output=True, text=True, check=True)
    assert said.stdout == f"graphdbg {wheel}\n"


def test_the_program_starts_without_the_packages_of_analysis() -> None:
    """They are optional, take time to load, and start threads."""
    text = "import sys, graphdbg.cli.main; print(*sorted({'numpy', 'pyarrow', 'duckdb', 'pandas'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout == "\n"


@pytest.mark.parametrize("command", [*COMMANDS, "attach"])
def test_each_command_is_found_without_the_others(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        make_parser(command).parse_args([command, "--help"])
    assert end.value.code == 0
    assert f"graphdbg {command} " in capsys.readouterr().out
