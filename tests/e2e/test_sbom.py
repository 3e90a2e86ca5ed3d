"""The installed package lists its components, with their licences."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
from pathlib import Path

import pytest
from conftest import PACKAGE, Json
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document


@pytest.fixture(scope="module")
def information() -> Path:
    """The package's .dist-info."""
    (found,) = PACKAGE.parent.glob("graphdbg-*.dist-info")
    return found


@pytest.fixture(scope="module")
def sbom(information: Path) -> Path:
    return information / "sboms" / "graphdbg.spdx.json"


def packages(sbom: Path) -> dict[str, Json]:
    return {package["name"]: package for package in json.loads(sbom.read_text())["packages"]}


def test_it_is_valid_spdx(sbom: Path) -> None:
    assert [
        message.validation_message for message in validate_full_spdx_document(parse_file(str(sbom)), "SPDX-2.3")
    ] == []


def test_it_names_what_the_programs_load(sbom: Path) -> None:
    named = packages(sbom)
    assert named["graphdbg"]["versionInfo"] == importlib.metadata.version("graphdbg")
    needed = subprocess.run(["readelf", "-d", str(PACKAGE / "lib" / "graphdbg-server")], capture_output=True, text=True)
    for library, package in (("libsqlite3.so", "libsqlite3-0"), ("libssl.so", "libssl3"), ("libgrpc.so", "libgrpc29")):
        if library in needed.stdout and Path("/etc/debian_version").read_text().startswith("12"):
            assert package in named
    assert {"react", "react-dom", "zustand"} <= named.keys()


def test_every_component_has_a_version_and_a_licence(sbom: Path) -> None:
    for name, package in packages(sbom).items():
        assert package["versionInfo"], name
        assert package["licenseDeclared"] != "NOASSERTION", name
        assert package["externalRefs"][0]["referenceLocator"].startswith("pkg:"), name


def test_what_is_contained_comes_with_its_licence(information: Path, sbom: Path) -> None:
    document = json.loads(sbom.read_text())
    names = {package["SPDXID"]: package["name"] for package in document["packages"]}
    texts = {file.name for file in (information / "licenses").iterdir()}
    assert "LICENSE" in texts
    contained = [
        names[r["relatedSpdxElement"]] for r in document["relationships"] if r["relationshipType"] == "CONTAINS"
    ]
    assert "libgrpc-dev" in contained
    for name in contained:
        assert any(text.startswith(f"{name.replace('/', '-')}.") for text in texts), name
