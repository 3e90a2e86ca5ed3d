"""The errors of recorded runs, which are GraphdbgError, and damage, which is reported beside what could be read."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from dataclasses import dataclass

from graphdbg.client.errors import UNAVAILABLE, USAGE, GraphdbgError

_NEAREST = 3


class RunNotFoundError(GraphdbgError):
    """There is no run at a path or URL."""

    code = "unknown_run"

    def __init__(self, path: str) -> None:
        super().__init__(f"no recorded run at {path}: expected a directory with rank-00000", UNAVAILABLE)


class MindSporeDumpError(GraphdbgError):
    """A directory is a dump of MindSpore, which is shown on the page and checked, but not read by Python."""

    code = "mindspore_dump"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{path} is a dump of MindSpore: `graphdbg open` shows it, and `graphdbg recheck` checks conditions on it",
            USAGE,
        )


class UnknownTensor(GraphdbgError, KeyError):
    """The run's graph has no tensor of this name. The message lists the nearest names."""

    code = "unknown_tensor"

    def __init__(self, name: str, known: Collection[str]) -> None:
        nearest = difflib.get_close_matches(name, known, _NEAREST)
        hint = f"; the nearest names are {', '.join(nearest)}" if nearest else ""
        super().__init__(f"no tensor {name} is in the graph{hint}")
        self.nearest = nearest

    def __str__(self) -> str:
        # KeyError would print the message in quotes.
        return str(self.args[0])


class NotRecorded(GraphdbgError, LookupError):
    """A value or statistics were not recorded. The message names what was."""

    code = "not_recorded"


class DataLossError(GraphdbgError):
    """A file of a run is damaged. The message names the file and the offset."""

    code = "data_loss"


@dataclass(frozen=True)
class Damage:
    """A part of a run that cannot be read.

    Attributes:
        file: The file.
        offset: The byte at which the damage begins.
        reason: What is wrong there.
    """

    file: str
    offset: int
    reason: str

    def __str__(self) -> str:
        return f"DATA_LOSS: {self.file}, offset {self.offset}: {self.reason}"

    def error(self) -> DataLossError:
        return DataLossError(str(self))
