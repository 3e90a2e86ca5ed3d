"""Looks for known vulnerabilities of the npm and Python packages that this project pins.

Both need a registry or a database of advisories. What cannot be reached is reported, and its
packages are listed with their versions, so that they can be looked up elsewhere.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NPM_FOLDERS = ("webui", "tools/vscode", "tests/e2e/browser", "tests/e2e/dap", "tests/e2e/vscode")
REQUIREMENTS = ROOT / "tools" / "setup" / "requirements.txt"
TIMEOUT_SECONDS = 120

FOUND, CLEAN, UNCHECKED = "found", "clean", "unchecked"


def npm_packages(folder: Path) -> list[str]:
    lock = json.loads((folder / "package-lock.json").read_text())
    versions = {
        f"{path.rpartition('node_modules/')[2]} {entry['version']}"
        for path, entry in lock["packages"].items()
        if "node_modules/" in path and "version" in entry
    }
    return sorted(versions)


def python_packages() -> list[str]:
    return re.findall(r"^[A-Za-z0-9_.-]+==\S+", REQUIREMENTS.read_text(), re.MULTILINE)


def audit_npm(folder: str) -> str:
    command = ["npm", "audit", "--json"]
    try:
        done = subprocess.run(command, cwd=ROOT / folder, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
        report = json.loads(done.stdout)
        found = report["vulnerabilities"]
    except (OSError, ValueError, KeyError, subprocess.TimeoutExpired):
        return not_checked(f"npm packages of {folder}", "npm's registry gave no answer", npm_packages(ROOT / folder))
    for name, entry in sorted(found.items()):
        print(f"{folder}: {name} {entry.get('range', '')}: {entry.get('severity', 'unknown severity')}")
    return verdict(f"npm packages of {folder}", len(found), len(npm_packages(ROOT / folder)))


def audit_python() -> str:
    what, packages = "Python packages", python_packages()
    program = shutil.which("pip-audit", path=f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin")
    if program is None:
        return not_checked(what, "pip-audit is not installed (pip install pip-audit)", packages)
    command = [program, "--requirement", str(REQUIREMENTS), "--no-deps", "--disable-pip", "--format=json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
        report = json.loads(done.stdout)["dependencies"]
    except (OSError, ValueError, KeyError, subprocess.TimeoutExpired):
        return not_checked(what, "the database of advisories gave no answer", packages)
    found = [(entry, advisory) for entry in report for advisory in entry.get("vulns", [])]
    for entry, advisory in found:
        fixed = ", ".join(advisory.get("fix_versions", [])) or "no version"
        print(f"Python: {entry['name']} {entry['version']}: {advisory['id']}, mended in {fixed}")
    return verdict(what, len(found), len(packages))


def audit_system() -> str:
    """Debian's libraries are the system's; its security support is theirs, too."""
    names = ("libgrpc++-dev", "libprotobuf-dev", "libssl-dev", "libsqlite3-dev", "libc-ares-dev", "zlib1g-dev")
    form = "${Package} ${Version}\n"
    found = subprocess.run(["dpkg-query", "-W", "-f", form, *names], capture_output=True, text=True)
    return not_checked("Debian's libraries", "see Debian's security tracker", found.stdout.splitlines())


def verdict(what: str, found: int, of: int) -> str:
    print(f"{what}: {found} known vulnerabilities, {of} packages checked")
    return FOUND if found else CLEAN


def not_checked(what: str, reason: str, packages: list[str]) -> str:
    print(f"{what}: NOT CHECKED, {reason}; {len(packages)} packages:")
    print("".join(f"  {package}\n" for package in packages), end="")
    return UNCHECKED


def main() -> int:
    results = [audit_npm(folder) for folder in NPM_FOLDERS]
    results += [audit_python(), audit_system()]
    unchecked = results.count(UNCHECKED)
    print(
        f"{results.count(FOUND)} of {len(results)} lists have known vulnerabilities, {unchecked} could not be checked"
    )
    return 1 if FOUND in results else 0


if __name__ == "__main__":
    sys.exit(main())
