"""The extension for VS Code: what is in its package, and that it knows what the adapter knows."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

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
