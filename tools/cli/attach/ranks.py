"""The processes of a distributed training on this machine."""

from __future__ import annotations

from .processes import LAUNCHERS, Process, own_processes

_LAUNCH = ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID")


def other_ranks(process: Process) -> list[Process]:
    """The other ranks of the same training, by their numbers; empty if it is not distributed."""
    mine = _launch_of(process)
    if mine is None:
        return []
    found = [
        each
        for each in own_processes()
        if each.pid != process.pid
        and _launch_of(each) == mine
        and each.torch is not None
        and each.script not in LAUNCHERS
        and each.name != "pt_data_worker"
    ]
    return sorted(found, key=lambda each: int(each.environment["RANK"]))


def rank_of(process: Process) -> int | None:
    """Its rank, if a launcher has set one."""
    rank = process.environment.get("RANK", "")
    return int(rank) if rank.isdigit() else None


def _launch_of(process: Process) -> tuple[str | None, ...] | None:
    environment = process.environment
    if rank_of(process) is None or environment.get("WORLD_SIZE", "1") == "1":
        return None
    return (environment["WORLD_SIZE"], *(environment.get(name) for name in _LAUNCH))
