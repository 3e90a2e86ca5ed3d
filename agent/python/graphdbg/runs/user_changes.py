"""What users have changed in the paused program: values of tensors, learning rates, steps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from .protobuf import Values
from .rank import Rank
from .times import utc


@dataclass(frozen=True)
class UserChange:
    """A change that a user made to the paused program.

    Attributes:
        rank: The rank.
        step: The step in which the program was paused, from 1.
        time: When, in UTC.
        by: The user, as in the audit log of the server; "" if that is not known.
        text: What was done, with the values before and after.
        tensor: The changed tensor, NODE:SLOT; None if the change concerns none.
    """

    rank: int
    step: int
    time: datetime
    by: str
    text: str
    tensor: str | None = None

    def __str__(self) -> str:
        by = f" by {self.by}" if self.by else ""
        return f"rank {self.rank}: changed in step {self.step}{by}: {self.text}"


def change_of(values: Values, rank: Rank) -> UserChange:
    """The change of a message UserChange of a rank."""
    node = values["node_id"]
    return UserChange(
        rank=rank.number,
        step=values["step"],
        time=utc(values["time_unix_nano"]),
        by=values["by"],
        text=values["text"],
        tensor=f"{rank.nodes.name(node)}:{values['slot']}" if node else None,
    )
