"""Runs at the start of every Python process that is to be debugged.

Imported by graphdbg.pth, or by the sitecustomize in _inject where graphdbg is
not installed. It only arranges for adapters to be loaded after their framework is
imported. It never raises: an error in graphdbg must not prevent a
program from starting.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import PurePath

# Programs that start other programs. The programs that they start are debugged;
# the launchers themselves are not.
_LAUNCHERS = frozenset({"torchrun", "torch.distributed.run", "torch.distributed.launch", "pip"})

_RANK_VARIABLES = ("RANK", "LOCAL_RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")

_installed = False


def is_enabled() -> bool:
    """Whether the environment asks for this process to be debugged."""
    value = os.environ.get("GRAPHDBG_ENABLE") or os.environ.get("ENABLE_MS_DEBUGGER")
    if not value:
        # A directory suffices to have a run recorded.
        return bool(os.environ.get("GRAPHDBG_RECORD") or os.environ.get("GRAPHDBG_BLACK_BOX"))
    return value.strip().lower() in ("1", "true")


def _program() -> Iterator[str]:
    """Yields the script, module or code that this interpreter runs, then its arguments."""
    words = iter(sys.orig_argv[1:])
    for word in words:
        if word in ("-m", "-c"):
            yield from words
        elif word in ("-W", "-X"):
            next(words, None)
        elif not word.startswith("-"):
            yield word
            yield from words


def is_helper_process() -> bool:
    """Whether this process only supports another one, and never trains: a launcher, for example.

    Processes of multiprocessing may train. They, and programs that start others, are
    followed, but take no place in the job unless they train themselves.
    """
    program = next(_program(), "")
    if program.startswith("from multiprocessing.resource_tracker"):
        return True
    return PurePath(program).name in _LAUNCHERS or "torch/_inductor/" in program


def _name_launch() -> None:
    """Names this launch for all processes that this one starts, so that their ranks agree on a job.

    A process that has a rank from the beginning was started by another launcher.
    """
    if not any(name in os.environ for name in _RANK_VARIABLES):
        os.environ.setdefault("GRAPHDBG_LAUNCH", str(os.getpid()))


def install() -> None:
    """Registers the callbacks for the imports of frameworks and for the exit, once per process."""
    global _installed
    if _installed or not is_enabled():
        return
    if os.environ.get("GRAPHDBG_CHECK"):
        _installed = True
        _observe()
        return
    _name_launch()
    if is_helper_process():
        return
    _installed = True
    from . import _exit_report, _frameworks, _import_hook

    if os.environ.get("GRAPHDBG_CONFIG") or os.environ.get("SMDEBUG_CONFIG_FILE_PATH"):
        from ._config import job

        job.apply()
    _exit_report.install()
    for framework in _frameworks.followed():
        _import_hook.after_import(framework.module, framework.follow)


def _observe() -> None:
    """Checks the program instead of debugging it.

    Processes that multiprocessing spawns may be ranks. Launchers are observed for their own errors.
    """
    program = next(_program(), "")
    if "torch/_inductor/" not in program and not program.startswith("from multiprocessing.resource_tracker"):
        from ._check import observer

        observer.install()


try:
    install()
except Exception as error:
    from ._log import warn_not_debugged

    warn_not_debugged(f"cannot start the debugger: {error}")
