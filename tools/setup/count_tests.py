"""Adds up JUnit reports and prints `N passed, N failed, N skipped`.

Exits with 1 if anything failed, or if a report cannot be read.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path


def outcome(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    # GoogleTest says so in attributes.
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
    return counts


def main() -> int:
    files = sorted(Path(sys.argv[1]).glob("*.xml"))
    total = sum((count(file) for file in files), Counter[str]())
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return 1 if total["failed"] or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
