"""The last lines of a test run name the tests that had to be tried again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

COUNT_TESTS = Path(__file__).resolve().parents[2] / "tools" / "setup" / "count_tests.py"
PASSED = '<testsuite><testcase classname="c" name="t"/></testsuite>'


def counted(directory: Path) -> tuple[int, list[str]]:
    done = subprocess.run([sys.executable, str(COUNT_TESTS), str(directory)], capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines()


def test_reruns_of_each_kind_are_counted_and_named(tmp_path: Path) -> None:
    (tmp_path / "bazel-server-store_test.xml").write_text(PASSED)
    attempts = tmp_path / "bazel-attempts" / "server-store_test"
    attempts.mkdir(parents=True)
    (attempts / "attempt_1.xml").write_text(PASSED)
    (tmp_path / "pytest-tests-e2e.log").write_text("..\nRERUN tests/e2e/test_a.py::test_b[3]\n2 passed, 1 rerun\n")
    once = {"fullName": "page once", "status": "passed", "failureMessages": []}
    twice = {"fullName": "page twice", "status": "passed", "failureMessages": ["expected 1 to be 2"]}
    (tmp_path / "vitest.json").write_text(json.dumps({"testResults": [{"assertionResults": [once, twice]}]}))
    spec = {"title": "finds a NaN", "tests": [{"results": [{"status": "failed"}, {"status": "passed"}]}]}
    (tmp_path / "playwright.json").write_text(json.dumps({"suites": [{"specs": [], "suites": [{"specs": [spec]}]}]}))

    code, lines = counted(tmp_path)
    assert code == 0
    assert lines == [
        "tried again: server-store_test: attempt_1",
        "tried again: pytest-tests-e2e: tests/e2e/test_a.py::test_b[3]",
        "tried again: vitest: page twice",
        "tried again: playwright: finds a NaN",
        "4 failed attempts were repeated; a test that needs that has a defect",
        "1 passed, 0 failed, 0 skipped",
    ]


def test_a_run_without_reruns_says_nothing_of_them(tmp_path: Path) -> None:
    (tmp_path / "bazel-server-store_test.xml").write_text(PASSED)
    assert counted(tmp_path) == (0, ["1 passed, 0 failed, 0 skipped"])


def test_a_failure_is_named_with_the_end_of_its_message(tmp_path: Path) -> None:
    trace = "\n".join(f"line {i}" for i in range(100)) + "\nE  assert 1 == 2"
    case = f'<testcase classname="c" name="t"><failure message="m"><![CDATA[{trace}]]></failure></testcase>'
    (tmp_path / "pytest-tests-e2e.xml").write_text(f"<testsuite>{case}</testsuite>")
    code, lines = counted(tmp_path)
    assert code == 1
    assert lines[0] == "failed: pytest-tests-e2e: c t"
    assert len(lines) < 20
    assert "E  assert 1 == 2" in lines[-2]
