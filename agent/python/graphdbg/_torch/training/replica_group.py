"""The ranks that have copies of a model, and the moments at which these are compared."""

from __future__ import annotations

import hashlib
from typing import Any

# A moment is the number of collectives of the group and, in these lowest bits, the number
# of steps of optimizers since the last one.
_STEP_BITS = 16


class ReplicaGroup:
    """The ranks that have copies of a model."""

    def __init__(self, process_group: Any, of: str = "") -> None:
        """`of`: what the copies have in common besides."""
        ranks = _ranks_of(process_group)
        self.size = len(ranks)
        # Several groups may have the same name, or the same ranks.
        text = f"{getattr(process_group, 'group_name', '')} {ranks}{of}"
        self.name = hashlib.sha256(text.encode()).hexdigest()
        self._process_group = process_group
        self._collectives = 0
        self._steps = 0

    def count_step(self) -> None:
        """An optimizer has stepped."""
        collectives = self._count_collectives()
        self._steps = self._steps + 1 if collectives == self._collectives else 0
        self._collectives = collectives

    @property
    def moment(self) -> int:
        """Equal on all ranks that have computed the same; ascends."""
        return self._collectives << _STEP_BITS | min(self._steps, (1 << _STEP_BITS) - 1)

    def _count_collectives(self) -> int:
        try:
            return int(self._process_group._get_sequence_number_for_group())
        except RuntimeError:
            # The backend does not count them.
            return 0


def _ranks_of(process_group: Any) -> list[int]:
    from torch.distributed import distributed_c10d

    if hasattr(distributed_c10d, "get_process_group_ranks"):
        return list(distributed_c10d.get_process_group_ranks(process_group))
    # PyTorch 1.
    return list(distributed_c10d._pg_group_ranks[process_group])
