"""Conditions of breakpoints, as users write them."""

from __future__ import annotations

import re

from graphdbg.client.http import HttpClient, Json

from ..break_on import parse_setting
from .edit_distance import distance_within
from .errors import DebuggerError

EXECUTED = "executed"
# Each tensor, whatever its values: for log points, whose text may name statistics.
EACH_TENSOR = "count >= 0"

_ID = re.compile(r"([a-z][a-z0-9_]*)((?::[^:\s]+)*)")


class Conditions:
    """The conditions that a server knows."""

    def __init__(self, http: HttpClient) -> None:
        self._http = http
        self._rows: dict[str, Json] | None = None

    @property
    def rows(self) -> dict[str, Json]:
        """The conditions by id, as the HTTP API describes them."""
        if self._rows is None:
            self._rows = {row["id"]: row for row in self._http.get("/conditions")["conditions"]}
        return self._rows

    def parse(self, text: str, params: dict[str, object] | None = None) -> Json:
        """A condition of the HTTP API.

        Args:
            text: An id such as "nan", one with parameters such as "abs_max_gt:1e3" or "tensor_too_large:max_gt=9", or
                an expression such as "abs_max > 1e3 && step > 100".
            params: Parameters of an id, instead of those in the text.

        Raises:
            DebuggerError: There is no such condition.
        """
        match = _ID.fullmatch(text.strip())
        if match is None:
            return {"id": "expression", "params": {"expression": text.strip()}}
        name = match[1]
        if name not in self.rows:
            near = sorted(
                (distance, each)
                for each in self.rows
                if (distance := distance_within(name, each, max(2, len(name) // 3))) is not None
            )
            meant = " or ".join(each for _, each in near[:3])
            hint = f"did you mean {meant}?" if meant else '"info conditions" lists all'
            raise DebuggerError(f"there is no condition {name}; {hint}")
        given = dict(params or {})
        parameters = {each["name"]: each for each in self.rows[name]["params"]}
        try:
            given |= dict(parse_setting(setting, name, parameters) for setting in match[2].split(":") if setting)
        except ValueError as error:
            raise DebuggerError(str(error)) from None
        return {"id": name, "params": given}


def text_of(condition: Json) -> str:
    """A condition of the HTTP API as users write it."""
    params = condition.get("params") or {}
    if condition["id"] == "expression":
        return str(params.get("expression", ""))
    return ":".join(
        [
            condition["id"],
            *(f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in params.items()),
        ]
    )
