"""Which rank this process is."""

from __future__ import annotations

import os
import sys

_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PMI_RANK", "LOCAL_RANK")


def rank() -> int:
    """From torch.distributed once it is initialised, else from the launcher's variables; 0 without either."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and getattr(distributed, "is_initialized", bool)():
        return int(distributed.get_rank())
    texts = (os.environ.get(name, "") for name in _VARIABLES)
    return next((int(text) for text in texts if text.isdigit()), 0)
