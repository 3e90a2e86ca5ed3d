"""Finds what a job has recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from . import report
from .errors import USAGE, CliError

# The directory of runs if none is named.
_DEFAULT = "runs"


class RecordedRun:
    """The recording of a job that is about to start.

    The job names its run; if the directory has runs of other jobs that start at the same
    time, the first one that is new is taken.
    """

    def __init__(self, option: str | Path | None, environment: Mapping[str, str], needed: bool = False) -> None:
        """
        Args:
            option: The directory of runs that the user has asked for, if any.
            environment: The job's environment, which may name one as well.
            needed: Rules look at the recording, so there is one whether or not a user has asked for it.
        """
        directory = option or recorded_to(environment)
        if directory and "://" in str(directory):
            hint = "name a directory of this machine; `graphdbg pack RUN --to URL` copies a run"
            raise CliError(f"cannot record to {directory}: {hint}", USAGE)
        self._needed = needed
        if needed and not directory:
            directory = _DEFAULT
            report.log(f"the rules look at a recording of the job, which is below {_DEFAULT}/ (--record DIR)")
        # The job may change its working directory.
        self._directory = Path(directory).absolute() if directory else None
        self._before = self._runs()

    def variables(self) -> dict[str, str]:
        """The variables that the job's environment needs."""
        return {"GRAPHDBG_RECORD": str(self._directory)} if self._directory else {}

    def for_rules(self) -> list[Path]:
        """The directories of runs that the server needs for rules. They exist."""
        if not self._needed or self._directory is None:
            return []
        self._directory.mkdir(parents=True, exist_ok=True)
        return [self._directory]

    def directory(self) -> str | None:
        """The directory of the run, once there is one."""
        new = self._runs() - self._before
        return str(min(new, key=lambda run: (run / "run.json").stat().st_mtime)) if new else None

    def _runs(self) -> set[Path]:
        return set() if self._directory is None else runs_of(self._directory)


def recorded_to(environment: Mapping[str, str]) -> str | None:
    """The directory or URL that jobs with this environment record to, if any."""
    return environment.get("GRAPHDBG_RECORD") or _configured(environment)


def runs_of(directory: Path) -> set[Path]:
    """The runs in a directory, which need not exist."""
    if not directory.is_dir():
        return set()
    return {entry for entry in directory.iterdir() if (entry / "run.json").is_file()}


def _configured(environment: Mapping[str, str]) -> str | None:
    """The directory that the configuration file names."""
    settings = json.loads(environment.get("GRAPHDBG_RECORD_SETTINGS") or "{}")
    record = settings.get("record")
    return record.get("to") if isinstance(record, dict) else record
