"""The files of server/docs/hosts: manifests against Kubernetes' own schemas, scripts against their shell."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from conftest import GRAPHDBG, clean_environment
from environments import python_with

HOSTS = Path(__file__).resolve().parents[2] / "server" / "docs" / "hosts"
# Every field, and none that Kubernetes does not know.
_VALIDATE = """
import sys, yaml, kubernetes_validate
kinds = []
for document in yaml.safe_load_all(open(sys.argv[1])):
    kubernetes_validate.validate(document, sys.argv[2], strict=True)
    kinds.append(document["kind"])
print(*kinds)
"""


@pytest.mark.parametrize(
    ("file", "kinds"),
    [("server.yaml", "Service PersistentVolumeClaim Deployment"), ("training.yaml", "Service Job")],
)
@pytest.mark.parametrize("version", ["1.29", "1.33"])
def test_manifests_are_valid(file: str, kinds: str, version: str) -> None:
    command = [str(python_with("manifests")), "-c", _VALIDATE, str(HOSTS / file), version]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == kinds.split()


def test_a_field_that_kubernetes_does_not_know_is_refused(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text((HOSTS / "training.yaml").read_text().replace("parallelism:", "paralelism:"))
    command = [str(python_with("manifests")), "-c", _VALIDATE, str(wrong), "1.29"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0 and "paralelism" in done.stderr


def test_the_batch_script_is_valid_shell() -> None:
    assert subprocess.run(["bash", "-n", str(HOSTS / "train.sbatch")]).returncode == 0


def options_of(command: str) -> list[str]:
    """The options with which the documents, scripts and manifests call a command of graphdbg."""
    found = []
    for file in HOSTS.iterdir():
        text = file.read_text()
        lines = text.replace("\\\n", " ").splitlines()
        found += [line.split(f"graphdbg {command} ", 1)[1] for line in lines if f"graphdbg {command} " in line]
        # In a manifest: the list of arguments after the command.
        found += re.findall(rf"command: \[graphdbg, {command}\]\s+args:((?:\s+- \S+)+)", text)
    return [word.partition("=")[0] for part in found for word in part.split() if word.startswith("--")]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("relay", {"--upstream", "--upstream-tls-ca"}),
        ("start", {"--host", "--data-dir", "--tls-cert", "--tls-key"}),
        ("url", {"--data-dir"}),
    ],
)
def test_options_in_the_documents_exist(command: str, expected: set[str]) -> None:
    options = set(options_of(command))
    assert options == expected
    known = subprocess.run(
        [GRAPHDBG, command, "--help"], capture_output=True, text=True, env=clean_environment()
    ).stdout
    assert [option for option in options if option not in known] == []
