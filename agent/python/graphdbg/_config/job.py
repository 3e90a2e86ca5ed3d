"""Applies the configuration inside a job that was not started by `graphdbg run`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from .._log import log

if TYPE_CHECKING:
    from ._load import Configuration

# Set in jobs whose configuration has been applied, by `graphdbg run` or by a parent process.
# Variables such as A=$A:x must not be expanded again in child processes.
APPLIED = "GRAPHDBG_CONFIG_APPLIED"
# Variables that take effect only when a process starts.
_TOO_LATE = ("LD_", "PYTHON")


def file_of(environment: Mapping[str, str]) -> str | None:
    """The configuration file that the environment names."""
    return environment.get("GRAPHDBG_CONFIG") or environment.get("SMDEBUG_CONFIG_FILE_PATH") or None


def _is_only_recorded(configuration: Configuration) -> bool:
    """Whether there is no server, so that the agent itself checks the watchpoints."""
    record = configuration.values.get("record")
    configured = record.get("to") if isinstance(record, dict) else record
    to = os.environ.get("GRAPHDBG_RECORD") or os.environ.get("GRAPHDBG_BLACK_BOX") or configured
    server = ("GRAPHDBG_HOST", "GRAPHDBG_PORT", "MS_DEBUGGER_HOST", "MS_DEBUGGER_PORT")
    return bool(to) and not any(os.environ.get(name) for name in server)


def apply() -> None:
    """Sets the variables of the configuration file in this process. Call it before the agent is loaded.

    An invalid file changes nothing and is reported, because graphdbg must not keep a
    program from running.
    """
    file = file_of(os.environ)
    if file is None or os.environ.get(APPLIED) == file:
        return
    # Only programs that have a configuration need the parser.
    from . import ConfigurationError, load

    try:
        configuration = load(file)
    except ConfigurationError as error:
        for problem in error.problems:
            log(problem.describe(file))
        log(f"{file} is not used; the program continues without it")
        return
    variables, notes = configuration.variables(os.environ)
    os.environ.update(variables)
    os.environ[APPLIED] = file
    late = [name for name in variables if name.startswith(_TOO_LATE)]
    if late:
        notes.append(f"{file}: {', '.join(late)} is set too late for this process and applies to its child processes")
    if configuration.watchpoints and not _is_only_recorded(configuration):
        notes.append(
            f"{file}: its watchpoints are set only under `graphdbg run --config`; add them on the page of this job"
        )
    for note in notes + configuration.notes():
        log(note)
