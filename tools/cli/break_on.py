"""Parses `--break-on`: conditions and their parameters.

nan,inf
abs_max_gt:1e3                        for conditions with one parameter
tensor_too_large:abs_mean_gt=10:max_gt=1e4
inf:absorbed=stop                     stops even at infinities that reach no result
nan:propagated=stop                   stops at each tensor that passes NaN on, too
expr:abs_max > 1e3 && step > 100      an expression over statistics
expr:p99 > 10                         over quantiles: p01 p05 p10 p25 p50 p75 p90 p95 p99
expr:axis=1:zero_percentage > 90      for each channel along a dimension
tensor_all_zero:axis=0                conditions on statistics take an axis, too
recommended                           the watchpoints that suit any training
not_training                          all conditions of training that does not train
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .client import ApiError, Client, Json
from .errors import USAGE, CliError

_AXIS = re.compile(r"axis=([+-]?\d+):")

RECOMMENDED = "recommended"
NOT_TRAINING = "not_training"


def conditions_of(texts: Sequence[str], client: Client) -> list[Json]:
    """Converts the texts to conditions of the HTTP interface. Raises CliError if the server refuses one."""
    return _conditions_of(texts, client, {})


def watchpoints_of(texts: Sequence[str], pause: str, client: Client) -> list[Json]:
    """Converts the texts to arguments of `add_watchpoint`. Raises CliError if the server refuses one.

    The conditions of NOT_TRAINING are tested by the program and not on the values of a recorded run.
    """
    training = [row["id"] for row in client.get("/conditions")["conditions"] if row["target"] == "training"]
    sets = {NOT_TRAINING: training, RECOMMENDED: [RECOMMENDED]}
    return [{"condition": condition, "pause": pause} for condition in _conditions_of(texts, client, sets)]


def add_watchpoint(watchpoint: Json, job_path: str, client: Client) -> list[int]:
    """Adds one result of `watchpoints_of` to a live job. Returns the ids of the new watchpoints."""
    path = f"{job_path}/watchpoints"
    if watchpoint["condition"]["id"] != RECOMMENDED:
        return [client.post(path, watchpoint)["id"]]
    made: list[int] = client.post(f"{path}/recommended", {})["made"]
    # Each has a place of its own to pause at.
    change = {"pause": "none"} if watchpoint["pause"] == "none" else {}
    if watchpoint.get("actions"):
        change["actions"] = watchpoint["actions"]
    if change:
        for each in made:
            client.patch(f"{path}/{each}", change)
    return made


def _conditions_of(texts: Sequence[str], client: Client, sets: Mapping[str, Sequence[str]]) -> list[Json]:
    rows = {row["id"]: row for row in client.get("/conditions")["conditions"]}
    conditions: list[Json] = []
    for item in (item for text in texts for item in _split(text)):
        if item in sets:
            conditions += [{"id": each, "params": {}} for each in sets[item]]
        else:
            conditions.append(parse_condition(item, rows))
    for condition in conditions:
        if condition["id"] != RECOMMENDED:
            check_condition(condition, client)
    return conditions


def as_list(texts: str | Sequence[str]) -> Sequence[str]:
    """One text, or several, as a sequence."""
    return (texts,) if isinstance(texts, str) else texts


def check_condition(condition: Json, client: Client) -> None:
    """Raises CliError if the server refuses a condition."""
    try:
        client.post("/conditions/check", {"condition": condition})
    except ApiError as error:
        if error.status != 422:
            raise
        raise _usage_error(str(error).removeprefix("condition.params.")) from error


def _usage_error(message: str) -> CliError:
    return CliError(f"--break-on: {message}", USAGE)


def _split(text: str) -> list[str]:
    """Splits a text at commas outside parentheses."""
    items = [""]
    depth = 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth <= 0:
            items.append("")
        else:
            items[-1] += character
    return [item.strip() for item in items if item.strip()]


def parse_condition(item: str, rows: Mapping[str, Json]) -> Json:
    """Converts one condition. `rows` are the known conditions by id. Raises CliError if it is unknown."""
    name, _, rest = item.partition(":")
    if name == "expr":
        axis = _AXIS.match(rest)
        if axis is None:
            return {"id": "expression", "params": {"expression": rest}}
        return {"id": "expression", "params": {"expression": rest[axis.end() :], "axis": float(axis[1])}}
    if name not in rows:
        raise _usage_error(
            f"unknown condition '{name}'; known conditions: {', '.join(sorted(rows))}, expr:EXPRESSION, "
            f"and for live jobs the sets {NOT_TRAINING} and {RECOMMENDED}"
        )
    parameters = {param["name"]: param for param in rows[name]["params"]}
    settings = [setting for setting in rest.split(":") if setting]
    try:
        return {"id": name, "params": dict(parse_setting(setting, name, parameters) for setting in settings)}
    except ValueError as error:
        raise _usage_error(str(error)) from None


def parse_setting(text: str, condition: str, parameters: Mapping[str, Json]) -> tuple[str, float | bool | str]:
    """A parameter of a condition, written NAME=VALUE, or VALUE if there is only one.

    Args:
        parameters: Those that the condition has, by name, as the HTTP API describes them.

    Raises:
        ValueError: It is not written like this, or the value is no number.
    """
    name, separator, value = text.partition("=")
    if not separator:
        # The axis is never what a condition is about.
        own = [name for name in parameters if name != "axis"]
        if len(own) != 1:
            raise ValueError(f"'{condition}' takes {', '.join(parameters) or 'no parameters'}: write NAME=VALUE")
        name, value = own[0], text
    if name in parameters and parameters[name]["type"] == "choice":
        return name, value
    if value in ("true", "false"):
        return name, value == "true"
    try:
        return name, float(value)
    except ValueError:
        raise ValueError(f"{name} of '{condition}' must be a number, not '{value}'") from None
