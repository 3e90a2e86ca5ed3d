"""Packs what a job has recorded into Parquet when it ends, in a process of its own, so that its exit is not delayed."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from ._log import log

# The log stays, because servers read runs from it.
_PACK = "import sys; from graphdbg.runs.pack_run import pack_run; pack_run(sys.argv[1], follow=True, keep_log=True)"
# Directories that are looked at for this process's run, the newest first.
_MOST_RUNS = 100


def start() -> None:
    """Starts the process that packs this process's run once all of its ranks have ended.

    `record.parquet` decides whether: "auto" (the default): if pyarrow is installed. Of several ranks on a machine, the
    first one does it.
    """
    record = _settings()
    wanted = record.get("parquet", "auto")
    runs = os.environ.get("GRAPHDBG_RECORD") or record.get("to")
    if not wanted or not runs or os.environ.get("LOCAL_RANK", "0") != "0":
        return
    run = _own_run(Path(runs))
    if run is None or not sys.executable:
        return
    if importlib.util.find_spec("pyarrow") is None:
        if wanted is True:
            log(f"{run} is not packed: that needs pyarrow")
        return
    try:
        _launch(run)
    except (OSError, RuntimeError) as error:
        log(f"{run} is not packed: {error}")


def _settings() -> dict[str, Any]:
    try:
        record = json.loads(os.environ.get("GRAPHDBG_RECORD_SETTINGS") or "{}").get("record", {})
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {"to": record}


def _own_run(runs: Path) -> Path | None:
    """The run of which this process records a rank."""
    try:
        found = sorted((each for each in runs.iterdir() if each.is_dir()), key=_age)[:_MOST_RUNS]
    except OSError:
        return None
    for run in found:
        for file in run.glob("rank-*/rank.json"):
            try:
                description = json.loads(file.read_text())
            except (OSError, ValueError):
                continue
            if description.get("pid") == os.getpid() and description.get("ended") is None:
                return run.absolute()
    return None


def _age(directory: Path) -> float:
    try:
        return -directory.stat().st_mtime
    except OSError:
        return 0


def _launch(run: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GRAPHDBG_")}
    environment["PYTHONPATH"] = str(Path(__file__).resolve().parents[1])
    nice = shutil.which("nice")
    command = [*([nice] if nice else []), sys.executable, "-c", _PACK, str(run)]
    subprocess.Popen(
        command,
        env=environment,
        cwd="/",
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
