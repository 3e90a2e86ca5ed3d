"""The extension for VS Code: what is in its package, and that it knows what the adapter knows."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path
from typing import Any, get_args

import pytest
from graphdbg.cli.dap.attaching import attached
from graphdbg.cli.dap.launch_arguments import Console, launch_arguments
from graphdbg.cli.dap.own_server import OwnServer
from graphdbg.client.errors import GraphdbgError

ROOT = Path(__file__).resolve().parents[2]
EXTENSION = ROOT / "tools/vscode"
MANIFEST: dict[str, Any] = json.loads((EXTENSION / "package.json").read_text())
DEBUGGER = MANIFEST["contributes"]["debuggers"][0]


def attributes(request: str) -> dict[str, Any]:
    return DEBUGGER["configurationAttributes"][request]["properties"]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("vsix")
    command = ["npm", "run", "--silent", "package", "--", "--out", f"{directory}/"]
    subprocess.run(command, cwd=EXTENSION, check=True, timeout=300)
    return next(directory.glob("*.vsix"))


def test_the_package_has_what_runs_and_nothing_else(package: Path) -> None:
    with zipfile.ZipFile(package) as archive:
        names = {name for name in archive.namelist() if name.startswith("extension/")}
        manifest = json.loads(archive.read("extension/package.json"))
    files = ("LICENSE.txt", "dist/extension.js", "icon.png", "package.json", "readme.md")
    assert {name.lower() for name in names} == {f"extension/{name}".lower() for name in files}
    assert manifest["main"] == "./dist/extension.js"
    assert package.stat().st_size < 100_000


def test_it_has_the_version_of_the_wheel() -> None:
    assert MANIFEST["version"] == (ROOT / "tools/wheel/VERSION").read_text().strip()


def test_types_are_those_of_the_oldest_supported_version() -> None:
    assert MANIFEST["engines"]["vscode"] == f"^{MANIFEST['devDependencies']['@types/vscode']}"


def test_snippets_and_first_configurations_use_described_attributes() -> None:
    bodies = [snippet["body"] for snippet in DEBUGGER["configurationSnippets"]]
    for body in [*bodies, *DEBUGGER["initialConfigurations"]]:
        assert body["type"] == DEBUGGER["type"]
        assert set(body) - {"name", "type", "request"} <= set(attributes(body["request"]))


def test_every_command_of_a_menu_exists() -> None:
    contributes = MANIFEST["contributes"]
    known = {command["command"] for command in contributes["commands"]}
    used = {entry["command"] for menu in contributes["menus"].values() for entry in menu}
    assert used == known


class Recording(dict[str, Any]):
    """Arguments that remember which of them were asked for."""

    def __init__(self, arguments: dict[str, Any], asked: set[str]) -> None:
        super().__init__(arguments)
        self._asked = asked

    def get(self, name: str, default: Any = None) -> Any:
        self._asked.add(name)
        return super().get(name, default)


def test_the_attributes_of_launch_are_the_arguments_of_the_adapter() -> None:
    asked: set[str] = set()
    for arguments in ({"program": __file__}, {"module": "train"}, {"command": ["torchrun"]}):
        launch_arguments(Recording(arguments, asked), 1)
    # VS Code sets it for "Run Without Debugging".
    assert asked - {"noDebug"} == set(attributes("launch"))


def test_the_attributes_of_attach_are_the_arguments_of_the_adapter(tmp_path: Path) -> None:
    asked: set[str] = set()
    with pytest.raises(GraphdbgError):
        attached(Recording({"server": "http://127.0.0.1:1", "job": "none"}, asked), OwnServer())
    assert asked == set(attributes("attach"))


def test_default_values_are_those_of_the_adapter() -> None:
    found = launch_arguments({"program": __file__}, 1)
    described = attributes("launch")
    assert described["stopOnEntry"]["default"] is found.stop_on_entry
    assert described["debugPython"]["default"] is (found.python_port is not None)
    assert described["console"]["default"] == found.console
    assert set(described["console"]["enum"]) == set(get_args(Console))
