"""Counts what is lost when a server is killed with writes under way, and when its disk is full for a while.

Runs the rounds of tests/integration/durability_test.cc, which has to be built:

    bazel build //tests/integration:durability_test
    python tests/faults/durability.py --kills 150 --full 50
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEST = ROOT / "bazel-bin/tests/integration/durability_test"
# The test finds the server program relative to this directory.
RUNFILES = Path(f"{TEST}.runfiles/graphdbg")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=5, help="rounds of kill -9")
    parser.add_argument("--full", type=int, default=5, help="rounds with a full disk that is freed again")
    options = parser.parse_args()
    if not TEST.exists():
        print(f"{TEST} is missing: bazel build //tests/integration:durability_test", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as directory:
        environment = {
            **os.environ,
            "TEST_TMPDIR": directory,
            "GRAPHDBG_KILL_ROUNDS": str(options.kills),
            "GRAPHDBG_FULL_ROUNDS": str(options.full),
        }
        command = [str(TEST), "--gtest_filter=*NothingAcknowledged*", "--gtest_brief=1"]
        return subprocess.run(command, cwd=RUNFILES, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
