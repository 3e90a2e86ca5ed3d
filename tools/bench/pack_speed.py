"""Packs and unpacks a run, in a process of its own, and prints figures as JSON: pack_speed.py RUN."""

from __future__ import annotations

import hashlib
import json
import resource
import shutil
import sys
import time
from pathlib import Path

# Imported first, because that takes a second as well. Arrow imports pandas for tables of strings.
import pandas  # noqa: F401
import pyarrow.parquet  # noqa: F401
from graphdbg.runs import open_run
from graphdbg.runs.pack_run import pack_run
from graphdbg.runs.unpack import unpack_run


def digests_of_log(run: Path) -> tuple[str, str]:
    """Digests of all positions and of all records."""
    log = open_run(run).rank(0).log
    assert log
    positions, records = hashlib.blake2b(), hashlib.blake2b()
    for block in log.blocks():
        positions.update(block.positions)
        records.update(block.records)
    return positions.hexdigest(), records.hexdigest()


def main() -> None:
    run = Path(sys.argv[1])
    before = digests_of_log(run)
    cpu = time.process_time()
    report = pack_run(str(run))
    seconds = time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    unpack_run(str(run))
    shutil.rmtree(run / "parquet")
    figures = {
        "records_per_cpu_second": report.rows / seconds,
        "bytes_of_a_row": report.bytes / report.rows,
        "peak_bytes": memory,
        "same": digests_of_log(run) == before,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
