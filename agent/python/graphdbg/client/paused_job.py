"""What can be done with a paused job besides moving it: repeat ops in other ways, and change it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .http import HttpClient, Json
from .models import Hit


@dataclass(frozen=True)
class Outcome:
    """What an experiment has shown.

    Attributes:
        experiment: Its id, such as "float64".
        title: What was done, for people.
        fails: Whether the condition of the hit is met; None if the experiment could not run.
        same_bits: Whether the output is that of the job, bit for bit; None if it cannot be, or is not known.
        bad_count: The number of elements that are not finite.
        text: The same in words, or why it could not run.
    """

    experiment: str
    title: str
    fails: bool | None
    same_bits: bool | None
    bad_count: int
    count: int
    text: str
    milliseconds: float | None


@dataclass(frozen=True)
class WhatIf:
    """What experiments with an op have shown.

    Attributes:
        level: "step" if all ops of the step were repeated on which the op depends, "op" if only some before it.
        why_not_step: Why it is not the step although a tape is kept; None otherwise.
        conclusion: What the outcomes say about the cause, in a sentence.
    """

    node: str
    slot: int
    rank: int
    step: int
    level: str
    why_not_step: str | None
    outcomes: tuple[Outcome, ...]
    conclusion: str

    @classmethod
    def from_json(cls, data: Json) -> WhatIf:
        names = Outcome.__dataclass_fields__
        outcomes = tuple(Outcome(**{name: each[name] for name in names}) for each in data["outcomes"])
        fields = {name: data[name] for name in cls.__dataclass_fields__ if name != "outcomes"}
        return cls(outcomes=outcomes, **fields)


class PausedJob:
    """The part of a Job that needs it to be paused."""

    _http: HttpClient
    _path: str

    def what_if(self, what: Hit | int | str, *experiments: str, rank: int = 0) -> WhatIf:
        """Repeats an op of the step in progress in other ways, in the paused process. Changes nothing there.

        Args:
            what: A hit or its id, or a tensor such as "forward/fc1:0".
            experiments: Ids: as_it_was, float64, upstream_float64, finite_inputs, cpu, deterministic. None: all.
            rank: Of a tensor.

        Raises:
            ConflictError: The job is not paused, or the op cannot be repeated.
            ValueGoneError: The values that the op read are gone.
        """
        body: Json = {"experiments": list(experiments)} if experiments else {}
        if isinstance(what, str):
            body |= {"name": what if what.rpartition(":")[2].isdigit() else f"{what}:0", "rank": rank}
        else:
            body["hit"] = what.id if isinstance(what, Hit) else what
        return WhatIf.from_json(self._http.post(f"{self._path}/whatif", body))

    def replay_step(self, what: Hit | int | str, rank: int = 0) -> WhatIf:
        """Repeats an op, and with a tape its whole step, as it was: does it fail again, with the same bits?"""
        return self.what_if(what, "as_it_was", rank=rank)

    def set_values(
        self, name: str, values: float | Sequence[float], *, slice: str = "", rank: int | None = None
    ) -> list[str]:
        """Writes to a tensor of the paused job. Autograd does not notice it. Needs the role `admin`.

        Args:
            name: The tensor, such as "forward/fc1/weight:0".
            values: One for all elements of the slice, or one for each, row-major.
            slice: In the syntax of NumPy's basic indexing.
            rank: Absent: each rank.

        Returns:
            What was done, a line for each rank.
        """
        given: Json = {"values": values if isinstance(values, (int, float)) else list(values)}
        return self._change("values", rank, name=name, slice=slice, **given)

    def set_learning_rate(
        self, value: float, *, optimizer: int | None = None, group: int | None = None, rank: int | None = None
    ) -> list[str]:
        """Sets the learning rate of one optimizer's group, or of all. A scheduler may change it again."""
        return self._change("learning_rate", rank, value=value, optimizer=optimizer, group=group)

    def skip_step(self, rank: int | None = None) -> list[str]:
        """Has the next step of each optimizer do nothing."""
        return self._change("skip_step", rank)

    def restore_step(self, rank: int | None = None) -> list[str]:
        """Gives weights and optimizer states the values back that they had before the step that has just ended.

        Needs a tape of whole steps (`capture: {tape: whole_step}` in the configuration).
        """
        return self._change("restore_step", rank)

    def _change(self, change: str, rank: int | None, **fields: object) -> list[str]:
        given = {name: value for name, value in (fields | {"rank": rank}).items() if value is not None}
        answer = self._http.post(f"{self._path}/change", {"change": change, **given})
        return [str(each["text"]) for each in answer["changes"]]
