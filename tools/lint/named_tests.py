"""Checks that the tests that server/docs/threat-model.md names exist.

Each row of its tables of requirements and promises ends with tests: `guard_test` is
a file guard_test.cc of any room, `tests/e2e/test_tls.py` a path, a name in backticks
after a file a case of that file, `--only F16` a fault of tests/faults. `tools/dev lint`
runs this program, which reports every name without a test and every requirement
without a row.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "server/docs/threat-model.md"
EXPECTED = [f"SEC-{i}" for i in range(1, 26)] + [f"P{i}" for i in range(1, 19)]

ROW = re.compile(r"^\| ((?:SEC-|P)\d+) \|.*\| ([^|]*) \|$", re.MULTILINE)
# In this order: a path, a file of Python tests, a file of C++ tests or a fuzz target,
# a fault, the name of a case.
NAME = re.compile(
    r"(?P<path>(?:tests|agent|server|tools|\.github)/[\w./]*\w)"
    r"|\b(?P<python>test_\w+\.py)"
    r"|\b(?P<native>\w+_(?:test|fuzzer))\b"
    r"|--only (?P<fault>F\d+)"
    r"|`(?P<case>(?:test_|[A-Z])\w+)`"
)


def tracked_files() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


class Tests:
    """The files of the repository, and what is defined in them."""

    def __init__(self, files: list[str]) -> None:
        self.files = files

    def at(self, path: str) -> list[str]:
        return [f for f in self.files if f == path or f.startswith(path + "/")]

    def called(self, *names: str) -> list[str]:
        return [f for f in self.files if Path(f).name in names]

    def define(self, files: list[str], case: str) -> bool:
        pattern = re.compile(
            rf"^\s*def {case}\(|^TEST\w*\(\s*\w+,\s*{case}\)|^TEST\w*\(\s*{case},|^class {case}\b", re.MULTILINE
        )
        return any(pattern.search((ROOT / f).read_text(encoding="utf-8")) for f in files)

    def has_fault(self, fault: str) -> bool:
        text = (ROOT / "tests/faults/faults.py").read_text(encoding="utf-8")
        return re.search(rf'(\bid\b.* = |^    \w+\()"{fault}"', text, re.MULTILINE) is not None


def missing(tests: Tests, row: str) -> Iterator[str]:
    """The names in the last column of a row that have no test."""
    files: list[str] = []
    for match in NAME.finditer(row):
        kind, name = match.lastgroup, match.group(match.lastgroup or 0)
        if kind == "fault":
            found = tests.has_fault(name)
        elif kind == "case":
            found = tests.define(files, name)
        else:
            names = (name,) if kind == "python" else (f"{name}.cc", f"{name}.c", f"{name}.sh")
            files = tests.at(name) if kind == "path" else tests.called(*names)
            found = bool(files)
        if not found:
            yield name


def problems(text: str, tests: Tests) -> Iterator[str]:
    rows = dict(ROW.findall(text))
    for wanted in EXPECTED:
        if wanted not in rows:
            yield f"{wanted} has no row"
    for identifier, row in rows.items():
        for name in missing(tests, row):
            yield f"{identifier} names {name}, which does not exist"


def main() -> int:
    found = list(problems(MODEL.read_text(encoding="utf-8"), Tests(tracked_files())))
    for problem in found:
        print(f"{MODEL.relative_to(ROOT)}: {problem}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
