"""Facts about the current process that the adapters report."""

from __future__ import annotations

import sys
from pathlib import Path


def default_job_name() -> str:
    """The name of the job unless GRAPHDBG_JOB sets one: the script's file name."""
    name = Path(sys.argv[0]).name if sys.argv else ""
    return name if name and not name.startswith("-") else "python"
