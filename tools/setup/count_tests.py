"""Adds up JUnit reports and prints `N passed, N failed, N skipped`.

Before that, the tests that failed are named with the end of their messages, and
those that passed only when they were tried again are named and counted. Exits
with 1 if anything failed, or if a report cannot be read.
"""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path
from typing import Any

# Lines of `pytest -rR` in pytest-*.log: RERUN agent/tests/test_x.py::test_y
_PYTEST_RERUN = re.compile(r"^RERUN (\S+)", re.MULTILINE)
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_MESSAGE_LINES = 12


def message(case: ElementTree.Element) -> str:
    """The end of a failure's message, indented: usually the assertion and what the program printed."""
    texts = [part.text or part.get("message", "") for part in [*case.findall("failure"), *case.findall("error")]]
    lines = _COLOURS.sub("", "\n".join(texts)).splitlines()[-_MESSAGE_LINES:]
    return "".join(f"    {line[:300]}\n" for line in lines)


def outcome(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    # GoogleTest reports it in attributes.
    if case.find("skipped") is not None or case.get("result") == "skipped" or case.get("status") == "notrun":
        return "skipped"
    return "passed"


def count(file: Path) -> Counter[str]:
    try:
        root = ElementTree.parse(file).getroot()
    except ElementTree.ParseError as error:
        print(f"{file.name}: not a readable report: {error}")
        return Counter(failed=1)
    counts: Counter[str] = Counter()
    for case in root.iter("testcase"):
        counts[outcome(case)] += 1
        if outcome(case) != "passed":
            print(f"{outcome(case)}: {file.stem}: {case.get('classname', '')} {case.get('name')}")
            print(message(case), end="")
    return counts


def bazel_reruns(directory: Path) -> list[str]:
    """Bazel keeps the report of each earlier attempt of a test that it repeated."""
    return [f"{file.parent.name}: {file.stem}" for file in sorted(directory.glob("bazel-attempts/*/*.xml"))]


def pytest_reruns(directory: Path) -> list[str]:
    return [
        f"{file.stem}: {name}"
        for file in sorted(directory.glob("pytest-*.log"))
        for name in _PYTEST_RERUN.findall(file.read_text(errors="replace"))
    ]


def vitest_reruns(directory: Path) -> list[str]:
    """Vitest's JSON report keeps the messages of attempts that failed before a test passed."""
    return [
        f"{file.stem}: {case['fullName']}"
        for file in sorted(directory.glob("vitest*.json"))
        for suite in json.loads(file.read_text())["testResults"]
        for case in suite["assertionResults"]
        if case["status"] == "passed" and case["failureMessages"]
    ]


def playwright_reruns(directory: Path) -> list[str]:
    """Playwright's JSON report lists every attempt of a test."""
    found = []

    def visit(suite: dict[str, Any]) -> None:
        for spec in suite.get("specs", []):
            for test in spec["tests"]:
                found.extend(f"playwright: {spec['title']}" for _ in test["results"][1:])
        for inner in suite.get("suites", []):
            visit(inner)

    for file in sorted(directory.glob("playwright*.json")):
        visit(json.loads(file.read_text()))
    return found


def main() -> int:
    directory = Path(sys.argv[1])
    total = sum((count(file) for file in sorted(directory.glob("*.xml"))), Counter[str]())
    reruns = [
        *bazel_reruns(directory),
        *pytest_reruns(directory),
        *vitest_reruns(directory),
        *playwright_reruns(directory),
    ]
    for rerun in reruns:
        print(f"tried again: {rerun}")
    if reruns:
        print(f"{len(reruns)} failed attempts were repeated; a test that needs that has a defect")
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return 1 if total["failed"] or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
