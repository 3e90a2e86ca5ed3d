"""The files of server/docs/hosts: manifests against Kubernetes' own schemas, scripts against their shell."""

from __future__ import annotations

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


@pytest.mark.parametrize("command", ["relay", "start"])
def test_options_in_the_documents_exist(command: str) -> None:
    """Of the `graphdbg relay` and `graphdbg start` in every page, script and manifest."""
    known = subprocess.run(
        [GRAPHDBG, command, "--help"], capture_output=True, text=True, env=clean_environment()
    ).stdout
    for file in HOSTS.iterdir():
        text = file.read_text().replace("\\\n", " ")
        for line in text.splitlines():
            if f"graphdbg {command} " in line:
                for word in line.split(f"graphdbg {command} ", 1)[1].split():
                    if word.startswith("--"):
                        assert word.partition("=")[0] in known, (file.name, word)
