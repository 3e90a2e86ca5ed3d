"""What users have changed in the program of a recorded run, in the output of commands."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphdbg.runs import UserChange


def user_change_json(change: UserChange) -> dict[str, Any]:
    return {**dataclasses.asdict(change), "time": change.time.isoformat()}
