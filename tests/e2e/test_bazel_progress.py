"""The line of progress of `tools/dev build` and `tools/dev demo`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools" / "setup"
sys.path.insert(0, str(TOOLS))

from bazel_progress import Progress  # noqa: E402

BAZEL = """#!/bin/sh
echo "$@" >"$(dirname "$0")/arguments"
cat >&2 <<'END'
INFO: Analyzed 3 targets (20 packages loaded, 80 targets configured).
[1,312 / 1,480] Compiling server/http/connection.cc; 7s linux-sandbox
ERROR: server/http/BUILD.bazel:3:11: C++ compilation failed
connection.cc:7:1: error: expected ';'
[1,313 / 1,480] checking cached actions
END
exit 3
"""


def test_the_pace_of_the_last_minutes_gives_the_time_left() -> None:
    progress = Progress("building")
    assert progress.follow("[100 / 480] Compiling a.cc; 7s", 0)
    assert str(progress) == "== building: 100 of 480"
    # Half a second for each action.
    assert progress.follow("[200 / 480] Compiling b.cc", 50)
    assert str(progress) == "== building: 200 of 480, about 2 min left"
    assert progress.follow("[470 / 480] Linking c", 100)
    assert str(progress) == "== building: 470 of 480, less than a minute left"


def test_without_a_pace_there_is_no_time() -> None:
    progress = Progress("building")
    progress.follow("[3 / 10] Compiling a.cc", 0)
    progress.follow("[3 / 10] Compiling a.cc; 100s", 100)
    assert str(progress) == "== building: 3 of 10"


def test_while_bazel_discovers_actions_there_is_no_time() -> None:
    progress = Progress("building")
    progress.follow("[10 / 14] Compiling a.cc", 0)
    progress.follow("[40 / 44] Compiling b.cc", 30)
    assert str(progress) == "== building: 40 of 44"
    progress.follow("[100 / 160] Compiling c.cc", 60)
    progress.follow("[120 / 160] Compiling d.cc", 85)
    assert str(progress) == "== building: 120 of 160, less than a minute left"


def test_other_lines_are_not_progress() -> None:
    assert not Progress("building").follow("ERROR: /x/BUILD.bazel:3:11: failed", 0)


def test_errors_and_the_exit_code_are_bazels(tmp_path: Path) -> None:
    bazel = tmp_path / "bazel"
    bazel.write_text(BAZEL)
    bazel.chmod(0o755)
    done = subprocess.run(
        [sys.executable, str(TOOLS / "bazel_progress.py"), "building it", "build", "--config=demo", "//a:b"],
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 3
    assert done.stderr.splitlines() == [
        "== building it: 1312 of 1480",
        "ERROR: server/http/BUILD.bazel:3:11: C++ compilation failed",
        "connection.cc:7:1: error: expected ';'",
    ]
    arguments = (tmp_path / "arguments").read_text().split()
    assert arguments[0] == "build" and arguments[-2:] == ["--config=demo", "//a:b"]
