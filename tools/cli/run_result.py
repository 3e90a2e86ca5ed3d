"""The result of a debugged run, for Python programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from graphdbg.client.errors import GraphdbgError
from graphdbg.client.models import ExceptionInfo, Hit

from .client import Json

if TYPE_CHECKING:
    from graphdbg.client.arrays import Array


class LocalHit(Hit):
    """A hit of a run that has ended, with the values of its tensor if they were kept."""

    array: Array | None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LocalHit:
        hit: LocalHit = super().from_json(data)  # type: ignore[assignment]
        object.__setattr__(hit, "array", None)
        return hit

    def tensor(self) -> Array:
        """The values that matched, as a NumPy array.

        Raises:
            GraphdbgError: The values were not kept (code `value_gone`).
        """
        if self.array is None:
            error = GraphdbgError(
                f"the values of {self.name} in step {self.step} were not kept: run_local keeps those of the first "
                "hits of a function at which the job stops (keep_tensors), and none of a command"
            )
            error.code = "value_gone"
            raise error
        return self.array


class RunResult(dict[str, Any]):
    """The result object as a dictionary that can be written as JSON, with its fields as attributes.

    Attributes:
        value: What the function returned; None if it did not return.
        error: The exception that ended the function, if any.
        hits: The hits, in execution order.
        absorbed_hits: Those by infinities that reached no result, which are not among `hits`.
    """

    def __init__(self, fields: Json, arrays: Mapping[int, Array] | None = None) -> None:
        super().__init__(fields)
        self.value: Any = None
        self.error: BaseException | None = None
        self.hits = [LocalHit.from_json(hit) for hit in fields["hits"]]
        self.absorbed_hits = [LocalHit.from_json(hit) for hit in fields.get("absorbed_hits", [])]
        for hit in self.hits + self.absorbed_hits:
            object.__setattr__(hit, "array", (arrays or {}).get(hit.id))

    @property
    def status(self) -> str:
        """ "finished", "failed" or "terminated"."""
        return str(self["status"])

    @property
    def exit_code(self) -> int:
        return int(self["exit_code"])

    @property
    def exception(self) -> ExceptionInfo | None:
        return ExceptionInfo.from_json(self["exception"])

    @property
    def steps(self) -> int:
        return int(self["steps"])

    @property
    def wall_seconds(self) -> float:
        return float(self["wall_seconds"])

    @property
    def debugged(self) -> bool:
        """Whether anything was debugged at all."""
        return bool(self.get("debugged", True))

    def __getattr__(self, name: str) -> Any:
        # `stages`, `run`, `metrics`, `artifacts`, `findings` and fields of newer versions.
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the result has no field {name!r}") from None
